/** Index files: all statements about one name, in the order of the log, each a leaf of it. */
import { canonicalJson, decodeText, hashOfText, refuse, sameBytes, sha256hex, utf8 } from "./encoding.mjs";
import { leafHash } from "./merkle.mjs";
import { parseNote } from "./notes.mjs";
import { parseStatement } from "./statements.mjs";

/** @typedef {{position: number, note: import("./notes.mjs").Note, said: import("./statements.mjs").Statement, sha256: string}} Entry `sha256` of the statement's text */

/** @returns {Promise<Entry[]>} what the lines of an index file say, all of it about `origin` and of one of `types` */
export async function parseLines(bytes, size, origin, types) {
  const text = decodeText(bytes, "index-malformed");
  if (text === "") return [];
  if (!text.endsWith("\n")) refuse("index-malformed", "An index file has no last line.");
  const entries = [];
  for (const row of text.slice(0, -1).split("\n")) {
    const { log, note, ...more } = canonicalJson(row, "index-malformed");
    const isLine = Number.isSafeInteger(log) && log >= 0 && typeof note === "string" && Object.keys(more).length === 0;
    if (!isLine || row !== JSON.stringify({ log, note })) refuse("index-malformed", "A line of an index file is malformed.");
    if (log >= size || log <= (entries.at(-1)?.position ?? -1)) refuse("index-position", "An index file names a log position that does not exist, or twice.");
    const parsed = parseNote(note);
    const said = parseStatement(parsed.text);
    if (!types.includes(said.type)) refuse("index-foreign", "An index file contains a statement of another type.");
    if (said.origin !== origin) refuse("entry-foreign", "An entry belongs to another registry.");
    entries.push({ position: log, note: parsed, said, sha256: await hashOfText(parsed.text) });
  }
  return entries;
}

const MAX_INDEX = 16 * 2 ** 20;

/** The bytes of an index file that the name map names. @param {{sha256: string, size: number}} row */
export async function readIndex(row, read) {
  if (row.size > MAX_INDEX) refuse("answer-too-large", "An index file is larger than clients accept.");
  const bytes = (await read(`index/${row.sha256}`, row.size, "index-size")) ?? refuse("index-missing", "A required index file is missing.");
  if (bytes.length !== row.size) refuse("index-size", "An index file does not have the size that the registry signed.");
  if ((await sha256hex(bytes)) !== row.sha256) refuse("index-hash", "An index file is not the one that the registry signed.");
  return bytes;
}

/** Demands that each entry is the leaf at its position. @param {import("./merkle.mjs").Tree} tree */
export async function demandLeaves(entries, tree) {
  for (const { position, note } of entries) {
    if (!sameBytes(await leafHash(utf8(note.whole)), await tree.leaf(position))) refuse("leaf-mismatch", "An index file and the log disagree about a statement.");
  }
}
