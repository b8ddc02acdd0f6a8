/** The page that checks a proof: what a person dropped or typed goes in, words come out. */
import { Refusal, timeText } from "../lib/encoding.mjs";
import { parseVerifierKey } from "../lib/notes.mjs";
import { parseProof, verifyInclusion, verifyProof } from "../lib/proofs.mjs";
import { parsePolicy, standing } from "../lib/witnesses.mjs";

const MAX_FILE = 64_000_000;
const NAMES = {
  "rye.release/v1": "A release", "rye.keyset/v1": "The keys of a namespace", "rye.yank/v1": "A yank", "rye.deprecation/v1": "A deprecation", "rye.advisory/v1": "An advisory",
  "rye.takedown/v1": "A takedown", "rye.root/v1": "A root of the registry", "rye.snapshot/v1": "A snapshot", "rye.proof/v1": "A proof of a place", "rye.description/v1": "An owner’s description", "rye.clock/v1": "A step back in time",
};
const $ = (id) => document.getElementById(id);
const given = { proof: null, item: null };

/** @returns {Promise<{verdict: "yes" | "no" | "open", title: string, why: string, rows: [string, string, string?][]}>} */
async function judgeProof(bytes, key, item, policy) {
  const proof = parseProof(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  await verifyInclusion(proof);
  const rows = factsOf(proof);
  if (!key.trim()) return { verdict: "open", title: "Not known yet whose log this is", why: "The proof is whole: the entry leads to the signed head. Enter the log’s key, so that the page can check who signed the head.", rows };
  const keys = await Promise.all(key.trim().split(/\s+/).map(parseVerifierKey));
  await verifyProof(proof, keys, item);
  rows.push(["Log’s key", key.trim(), "It signed the head. That it is the registry’s is what you know from elsewhere."]);
  if (item) rows.push(["File", "The file that you gave is exactly the one that was released."]);
  if (policy.trim()) {
    const { problem, times } = await standing(await parsePolicy(policy.endsWith("\n") ? policy : `${policy}\n`), proof.note);
    rows.push(["Witnesses", [...times].map(([name, time]) => `${name} on ${timeText(time)}`).join(", ") || "none of yours"]);
    if (problem) return { verdict: "no", title: "Not proved", why: "The log signed it, but too few of the witnesses that you demand have cosigned this head.", rows };
  }
  return { verdict: "yes", title: "Proved", why: `This is entry ${proof.position} of the log of ${proof.origin}, and the log’s key signed that.`, rows };
}

function factsOf({ said, origin, position, size, entry, note }) {
  const namespace = said.namespace ?? said.id?.split(/[:/]/)[1];
  const others = note.lines.filter((line) => line.name !== origin).length;
  const rows = [["What", [NAMES[said.type], said.id ?? said.namespace, said.version].filter(Boolean).join(" "), said.description ?? said.reason ?? said.title ?? said.about]];
  const signers = [...new Set(entry.lines.map((line) => `${line.name} (key ${line.id})`))].join(", ");
  rows.push(["By whom", signers, namespace ? `The entry says so. Whether these are keys of ${namespace} is not part of a proof: a client with the registry’s fingerprint checks it.` : undefined]);
  rows.push(["When", said.time === undefined ? "not dated" : timeText(said.time), "What the signer wrote. A registry accepts releases whose date is at most a day old."]);
  if (said.file) rows.push(["File", `${said.file.suffix}, ${said.file.size} bytes, SHA-256 ${said.file.sha256}`, said.attached.length ? `and ${said.attached.length} attached` : undefined]);
  rows.push(["Where", `entry ${position} of ${size} in the log of ${origin}`, others ? `${others} other signatures are on the head; a policy of witnesses says which of them count.` : undefined]);
  return rows;
}

function show({ verdict, title, why, rows }) {
  const make = (name, text, kind) => Object.assign(document.createElement(name), { textContent: text, className: kind ?? "" });
  const box = make("div", "", `verdict ${verdict}`);
  box.append(make("h2", title), make("p", why));
  const list = make("dl", "");
  for (const [term, text, more] of rows) {
    const value = make("dd", text);
    if (more) value.append(make("span", more, "quiet"));
    list.append(make("dt", term), value);
  }
  $("answer").replaceChildren(box, ...(rows.length ? [list] : []));
}

let turn = 0;

async function check() {
  const mine = ++turn;
  if (given.proof === null) return;
  let answer = null;
  try {
    answer = await judgeProof(given.proof, $("key").value, given.item, $("policy").value);
  } catch (error) {
    const isOurs = error instanceof Refusal;
    const old = error.name === "NotSupportedError" ? "This browser cannot check Ed25519 signatures. Use a newer one." : "The file is not a proof.";
    answer = { verdict: "no", title: "Not proved", why: isOurs ? `${error.message} (${error.code})` : old, rows: [] };
  }
  if (mine === turn) show(answer);
}

async function take(files) {
  for (const file of files) {
    const bytes = file.size <= MAX_FILE ? new Uint8Array(await file.arrayBuffer()) : new Uint8Array();
    const isProof = new TextDecoder().decode(bytes.subarray(0, 22)) === "c2sp.org/tlog-proof@v1";
    given[isProof || files.length === 1 ? "proof" : "item"] = bytes;
  }
  await check();
}

$("proof").addEventListener("change", () => take([...$("proof").files]));
$("item").addEventListener("change", async () => {
  given.item = $("item").files.length ? new Uint8Array(await $("item").files[0].arrayBuffer()) : null;
  await check();
});
for (const id of ["key", "policy"]) $(id).addEventListener("input", check);
$("form").addEventListener("submit", (event) => event.preventDefault());
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    $("drop").classList.toggle("over", kind === "dragover");
    if (kind === "drop") void take([...event.dataTransfer.files]);
  });
}
