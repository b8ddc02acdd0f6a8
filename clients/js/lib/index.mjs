/**
 * Index files, and what has their format: all statements about one name, in the order of the log, each a leaf of it
 * (docs/reference/protocol.md, "Index, name map, head").
 */
import { canonicalJson, decodeText, hashOfText, refuse } from "./encoding.mjs";
import { parseNote } from "./notes.mjs";
import { parseStatement } from "./statements.mjs";
import { readHashed } from "./transport.mjs";

/** @typedef {{position: number, note: import("./notes.mjs").Note, said: import("./statements.mjs").Statement, sha256: string}} Entry `sha256` of the statement's text */

/**
 * What the lines of an index file say, all of it of `origin` and of one of `types`.
 * @param {Uint8Array | null} bytes @param {{origin: string, size: number}} head up to which the log counts
 * @param {boolean} isNewer whether the file may go on behind `size`; that is left out @returns {Promise<Entry[]>}
 */
export async function readLines(bytes, { origin, size }, types, isNewer = false) {
  const text = decodeText(bytes ?? new Uint8Array(), "index-malformed");
  if (text === "") return [];
  if (!text.endsWith("\n")) refuse("index-malformed", "An index file has no last line.");
  let [entries, last] = [[], -1];
  for (const row of text.slice(0, -1).split("\n")) {
    const { log, note, ...more } = canonicalJson(row, "index-malformed");
    const isLine = Number.isSafeInteger(log) && log >= 0 && typeof note === "string" && Object.keys(more).length === 0;
    if (!isLine || row !== JSON.stringify({ log, note })) refuse("index-malformed", "A line of an index file is malformed.");
    if ((log >= size && !isNewer) || log <= last) refuse("index-position", "An index file names a log position that does not exist, or twice.");
    last = log;
    const parsed = parseNote(note);
    const said = parseStatement(parsed.text);
    if (!types.includes(said.type)) refuse("index-foreign", "An index file contains a statement of another type.");
    if (said.origin !== origin) refuse("entry-foreign", "An entry belongs to another registry.");
    if (log < size) entries.push({ position: log, note: parsed, said, sha256: await hashOfText(parsed.text) });
  }
  return entries;
}

const MAX_INDEX = 16 * 2 ** 20;

/** The bytes of an index file that the name map names. @param {{sha256: string, size: number}} row */
export async function readIndex(row, read) {
  if (row.size > MAX_INDEX) refuse("answer-too-large", "An index file is larger than clients accept.");
  return readHashed(read, `index/${row.sha256}`, row, "index");
}
