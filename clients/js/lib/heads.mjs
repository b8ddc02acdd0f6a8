/**
 * One head: a checkpoint, and the snapshot that ends it and names its name map (docs/reference/protocol.md, "Index, name
 * map, head", and step 2 of "What a client does").
 */
import { canonicalJson, decodeText, fromBase64, refuse, sameBytes, utf8 } from "./encoding.mjs";
import { leafHash, rootOfInclusion } from "./merkle.mjs";
import { demandSigners, parseNote } from "./notes.mjs";
import { logKeys } from "./owners.mjs";
import { parseCheckpoint, parseStatement } from "./statements.mjs";

export const MAX_HEAD = 128_000;
const MEMBERS = "checkpoint,snapshot,proof,map";

/** @typedef {{raw: any, note: import("./notes.mjs").Note, snapshotNote: import("./notes.mjs").Note, size: number, root: Uint8Array, snapshot: any, origin: string}} Head */

function parsePart(raw) {
  const isForm = Object.keys(raw ?? {}).join() === MEMBERS && typeof raw.checkpoint === "string" && typeof raw.snapshot === "string" && /^[0-9a-f]{64}$/.test(raw.map) && Array.isArray(raw.proof) && raw.proof.length <= 64;
  if (!isForm || !raw.proof.every((one) => typeof one === "string")) refuse("head-malformed", "The registry's head is malformed.");
  const [note, snapshotNote] = [parseNote(raw.checkpoint), parseNote(raw.snapshot)];
  const [{ origin, size, root }, snapshot] = [parseCheckpoint(note.text), parseStatement(snapshotNote.text)];
  if (size === 0) refuse("head-empty", "The registry's log is empty.");
  if (snapshot.type !== "rye.snapshot/v1") refuse("snapshot-kind", "The last entry of the log is not a snapshot.");
  return { raw, note, snapshotNote, size, root, snapshot, origin };
}

/** @returns {{newest: Head, cosigned: Head | null}} what `/head` says, unverified */
export function parseHead(bytes) {
  const text = decodeText(bytes, "head-malformed");
  const { cosigned, ...newest } = canonicalJson(text.slice(0, -1), "head-malformed");
  const isExact = text === `${JSON.stringify({ ...newest, cosigned })}\n`;
  if (!isExact) refuse("head-malformed", "The registry's head is malformed, or does not end.");
  return { newest: parsePart(newest), cosigned: cosigned === undefined ? null : parsePart(cosigned) };
}

/** Checks a head by itself, under the root that its snapshot names. @param {Head} head */
export async function verifyHead(head, root) {
  const { origin, snapshot, size } = head;
  if (origin !== root.origin) refuse("checkpoint-origin", "The signed head belongs to another registry.");
  if (snapshot.origin !== origin) refuse("snapshot-origin", "The snapshot belongs to another registry.");
  const keys = await logKeys(root);
  await demandSigners(head.note, keys, 1, "checkpoint-signature", "checkpoint-signature");
  await demandSigners(head.snapshotNote, keys, 1, "snapshot-signature", "snapshot-signature");
  if (snapshot.map === null) refuse("snapshot-former", "The log went back to an older protocol.");
  if (snapshot.map !== head.raw.map) refuse("snapshot-map", "The head and the snapshot name different lists of names.");
  const path = head.raw.proof.map((one) => fromBase64(one, "head-malformed"));
  if (path.some((one) => one.length !== 32)) refuse("head-malformed", "A hash of the head has another length.");
  const proved = await rootOfInclusion(size - 1, size, await leafHash(utf8(head.snapshotNote.whole)), path);
  if (!sameBytes(proved, head.root)) refuse("snapshot-proof", "The registry cannot prove that its snapshot is in its log.");
}
