// Loaded before the MCP conformance suite: adds the token, for which the suite has no option, and asks for items by their ids
// instead of the suite's own names. RYE_JUDGED: {"token": …, "names": {theirs: ours}}. Answers pass through unchanged.
const { token, names } = JSON.parse(process.env.RYE_JUDGED);
const send = globalThis.fetch;
const ours = (place, key) => {
  if (Object.hasOwn(names, place?.[key])) place[key] = names[place[key]];
};

globalThis.fetch = (address, options = {}) => {
  const headers = new Headers(options.headers);
  headers.set("Authorization", `Bearer ${token}`);
  if (typeof options.body !== "string") return send(address, { ...options, headers });
  const message = JSON.parse(options.body);
  for (const key of ["name", "uri"]) {
    ours(message.params, key);
    ours(message.params?.ref, key);
  }
  return send(address, { ...options, headers, body: JSON.stringify(message) });
};
