/** The signature line in an item's file (docs/reference/item-signatures.md): who signed the whole of it. */
import { signedBy } from "./ed25519.mjs";
import { base64, concat, decodeText, fromBase64, refuse, seconds, sha256hex, utf8 } from "./encoding.mjs";

const CLAIM = /^\s*(?:<!--|#|\/\/)?\s*rye(?:os)?:signed:/i;
const SIGNED = /^(rye|ryeos):signed:([^:]+(?::\d\d:\d\dZ)?):([0-9a-f]{64}):([\w\-+/=]+):([0-9a-f]{64}|[0-9a-f]{16})(\|[!-~]+)?$/;
const PLACEHOLDER = /^(rye|ryeos):signed:.*:placeholder:unsigned:unsigned$/;
const SPKI = Uint8Array.of(0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00);

const HASH_SIGN = /^# (.*)$/;
const SLASHES = /^\/\/ (.*)$/;
const COMMENTS = { md: /^<!-- (.*) -->$/, py: HASH_SIGN, sh: HASH_SIGN, yaml: HASH_SIGN, toml: HASH_SIGN, js: SLASHES, ts: SLASHES };

/** KEYID: the 16 digits that name a key, or the 64 of the later form. @param {import("./ed25519.mjs").Key} key */
async function keyId(key, isLater) {
  if (isLater) return key.blob ? "" : sha256hex(key.raw);
  const text = key.blob ? `${key.line}\n` : `-----BEGIN PUBLIC KEY-----\n${base64(concat(SPKI, key.raw))}\n-----END PUBLIC KEY-----\n`;
  return (await sha256hex(utf8(text))).slice(0, 16);
}

/** What the line says that stands where signing the rest of the file would put it, null where none does. */
function findLine(lines, suffix) {
  for (const at of [0, 1]) {
    const first = lines[1 - at] ?? "";
    const isHeaded = ["md", "yaml"].includes(suffix) && /^---[ \t]*$/.test(first);
    const isAbove = at === 0 && isHeaded && CLAIM.test(lines[0]) && !/:[0-9a-f]{16}( -->)?$/.test(lines[0]); // the later form may stand above `---`
    const place = isHeaded || (first.startsWith("#!") && suffix !== "md") ? 1 : 0;
    if ((at !== place && !isAbove) || !CLAIM.test(lines[at] ?? "")) continue;
    const forms = [...(isHeaded ? [HASH_SIGN] : []), ...(isHeaded && at === 1 ? [] : [COMMENTS[suffix]])];
    const [, said] = forms.map((form) => form?.exec(lines[at])).find(Boolean) ?? [];
    if (said === undefined || lines.length === 1) refuse("malformed", "The signature line is malformed.");
    return { at, said };
  }
  return null;
}

/**
 * The key of `keys` that signed the whole file.
 * @param {Uint8Array} data @param {string} name of the file, for its suffix @param {import("./ed25519.mjs").Key[]} keys
 * @returns {Promise<{key: import("./ed25519.mjs").Key, how: string}>} refuses with the verdict as the code
 */
export async function whoSigned(data, name, keys) {
  const text = decodeText(data, "malformed");
  if (text.startsWith("\ufeff")) refuse("malformed", "The file starts with a byte order mark.");
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const line = findLine(lines, name.slice(name.lastIndexOf(".") + 1));
  if (line === null || PLACEHOLDER.test(line.said)) refuse("unsigned", "The file has no signature.");
  const [, marker, time, hash, encoded, id] = SIGNED.exec(line.said) ?? refuse("malformed", "The signature line is malformed.");
  seconds(time, "malformed");
  const isLater = id.length === 64;
  if (!isLater && marker !== "rye") refuse("malformed", "The signature line is malformed.");
  const signature = decodeSignature(encoded, isLater);
  for (const key of keys) {
    if (id !== (await keyId(key, isLater))) continue;
    const how = await signedBy(key, utf8(hash), signature);
    if (!how) refuse("bad-signature", "The signature is not the key's.");
    const content = [...lines.slice(0, line.at), ...lines.slice(line.at + 1)].join("\n");
    if ((await sha256hex(utf8(content))) !== hash) refuse("modified", "The content was changed after it was signed, or only a part of it was signed.");
    return { key, how };
  }
  return refuse("untrusted", "The file is signed by another key.");
}

function decodeSignature(encoded, isLater) {
  let whole = encoded.replaceAll("-", "+").replaceAll("_", "/");
  if (isLater && !whole.endsWith("=")) whole = whole.padEnd(Math.ceil(whole.length / 4) * 4, "=");
  const bytes = fromBase64(whole, "malformed");
  const isGood = (bytes.length === 64 || (bytes.length === 69 && !isLater)) && (isLater || !/[+/]/.test(encoded));
  return isGood ? bytes : refuse("malformed", "The signature has another form.");
}
