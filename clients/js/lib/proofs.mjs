/**
 * That an entry is in a log, for people who do not have the log (docs/reference/protocol.md, "Proofs for others";
 * c2sp.org/tlog-proof).
 */
import { base64, decodeText, fromBase64, number, refuse, sameBytes, sha256hex, utf8 } from "./encoding.mjs";
import { leafHash, rootOfInclusion } from "./merkle.mjs";
import { demandSigners, parseNote } from "./notes.mjs";
import { parseCheckpoint, parseStatement } from "./statements.mjs";

const HEAD = "c2sp.org/tlog-proof@v1";

/** The proof of `entry` under the head that the client accepted. @param {import("./client.mjs").Client} client */
export async function prove(client, { note, position }) {
  const path = await client.tree.inclusion(position, client.head.size);
  return [HEAD, `extra ${base64(utf8(note.whole))}`, `index ${position}`, ...path.map(base64), "", client.head.note.whole].join("\n");
}

const FORM = /^c2sp\.org\/tlog-proof@v1\nextra (.*)\nindex (.*)\n((?:.+\n){0,64})\n([^]*)$/;

/** What a proof says, unverified: `extra` is the entry, the whole signed note. */
export function parseProof(text) {
  const fail = () => refuse("proof-malformed", "The file is not a proof.");
  const [, extra, index, hashes, checkpoint] = FORM.exec(text) ?? fail();
  const [bytes, ...path] = [extra, ...hashes.split("\n").slice(0, -1)].map((one) => fromBase64(one, "proof-malformed"));
  if (path.some((hash) => hash.length !== 32)) fail();
  const [entry, note] = [decodeText(bytes, "proof-malformed"), checkpoint].map(parseNote);
  const position = number(index, 0, "proof-malformed");
  return { entry, said: parseStatement(entry.text), position, path, note, ...parseCheckpoint(note.text) };
}

/** Checks a proof. @param {import("./notes.mjs").NamedKey[]} keys of the log @param {Uint8Array | null} item the file that the entry must release */
export async function verifyProof(proof, keys, item = null) {
  const ofLog = keys.filter((key) => key.name === proof.origin);
  if (ofLog.length === 0) refuse("proof-origin", `The proof is about ${proof.origin}, which the keys are not of.`);
  await demandSigners(proof.note, ofLog, 1, "checkpoint-signature", "checkpoint-signature");
  await verifyInclusion(proof);
  if (item === null) return proof;
  if (proof.said.type !== "rye.release/v1") refuse("wrong-statement", "The proof is not of a release.");
  const { size, sha256 } = proof.said.file;
  if (item.length !== size || (await sha256hex(item)) !== sha256) refuse("other-bytes", "The file is not the one in the proof.");
  return proof;
}

/** The part that needs no key: the entry leads to the root of the checkpoint. */
export async function verifyInclusion(proof) {
  if (proof.said.origin !== proof.origin) refuse("entry-foreign", "The entry belongs to another registry.");
  const root = await rootOfInclusion(proof.position, proof.size, await leafHash(utf8(proof.entry.whole)), proof.path);
  if (!sameBytes(root, proof.root)) refuse("proof-root", "The proof does not lead to the signed head.");
}
