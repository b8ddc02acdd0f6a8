/** The name map (docs/reference/name-map.md): name → index file, with a proof of presence or absence. */
import { compareBytes, decodeText, hashOfText, hex, number, once, refuse } from "./encoding.mjs";
import { isName } from "./grammar.mjs";
import { readHashed } from "./transport.mjs";

const MOST_NAMES = 128;
const MAX_NODE = 160_000;
const HASH = /^[0-9a-f]{64}$/;

/** @typedef {{low: number, high: number, names: number, child: string}} Row */
/** @typedef {{prefix: string, low: number, high: number, names: number, rows: Row[] | null, entries: {name: string, sha256: string, size: number}[] | null}} Node */

const demand = (holds, why) => holds || refuse("map-malformed", `A part of the registry's list of names is malformed: ${why}.`);

/** Values of a byte: 1, 2, 4 … or 256 of them, from a multiple of their number on. */
function byteRange(text) {
  demand(/^[0-9a-f]{2}-[0-9a-f]{2}$/.test(text), "a range");
  const [low, high] = text.split("-").map((part) => parseInt(part, 16));
  const count = high - low + 1;
  demand(count > 0 && (count & (count - 1)) === 0 && low % count === 0, "a range");
  return { low, high };
}

/** Whether the byte after a prefix of a hash is in a range. */
const isIn = ({ low, high }, prefix, hash) => {
  const byte = parseInt(hash.slice(prefix.length, prefix.length + 2), 16);
  return hash.startsWith(prefix) && byte >= low && byte <= high;
};
const isWhole = ({ low, high }) => low === 0 && high === 255;

/** What a node says by itself: rules 1 to 4. @returns {Promise<Node>} */
export async function parseNode(text) {
  demand(text.length <= MAX_NODE && /^[\n -~]*$/.test(text) && text.endsWith("\n"), "its form");
  const [head, ...lines] = text.slice(0, -1).split("\n");
  const [, type, written, range] = /^rye\.map\/v1 (leaf|inner) (-|(?:[0-9a-f]{2}){1,31})(?: ([0-9a-f-]{5}))?$/.exec(head) ?? demand(false, "its first line");
  demand((type === "leaf") === (range !== undefined), "its first line");
  const prefix = written === "-" ? "" : written;
  return type === "leaf" ? leaf(prefix, byteRange(range), lines) : inner(prefix, lines);
}

async function leaf(prefix, range, lines) {
  const isRoot = prefix === "" && isWhole(range);
  demand(lines.length <= MOST_NAMES && (lines.length > 0 || isRoot), "how many names a leaf has");
  demand(isRoot || !isWhole(range), "the range of a leaf");
  const entries = lines.map((line) => {
    const [name, sha256, size, ...more] = line.split(" ");
    demand(more.length === 0 && isName(name) && HASH.test(sha256 ?? ""), "the line of a name");
    return { name, sha256, size: number(size ?? "", 1, "map-malformed") };
  });
  demand(entries.every((one, at) => at === 0 || compareBytes(entries[at - 1].name, one.name) < 0), "the order of names");
  const hashes = await Promise.all(entries.map(({ name }) => hashOfText(name)));
  demand(hashes.every((hash) => isIn(range, prefix, hash)), "a name in the wrong place");
  return { prefix, ...range, names: entries.length, rows: null, entries };
}

function inner(prefix, lines) {
  demand(lines.length > 0 && lines.length <= 256, "its rows");
  const rows = lines.map((line) => {
    const [range, names, child, ...more] = line.split(" ");
    demand(more.length === 0 && HASH.test(child ?? ""), "a row");
    const row = { ...byteRange(range), names: number(names ?? "", 1, "map-malformed"), child };
    demand(!isWhole(row) && (row.names <= MOST_NAMES || row.low === row.high), "a row");
    return row;
  });
  demand(rows.every((row, at) => at === 0 || rows[at - 1].high < row.low), "the order of rows");
  const within = (low, high) => rows.reduce((sum, row) => sum + (row.low >= low && row.high <= high ? row.names : 0), 0);
  const names = within(0, 255);
  demand(names > MOST_NAMES, "an inner node with few names");
  for (const { low, high } of rows) {
    const count = 2 * (high - low + 1);
    const start = low - (low % count);
    demand(within(start, start + count - 1) > MOST_NAMES, "a row that was split off without need");
  }
  return { prefix, low: 0, high: 255, names, rows, entries: null };
}

/** A name map as one head fixes it. */
export class NameMap {
  /** @param {string} root SHA-256 @param {(path: string, limit: number) => Promise<Uint8Array | null>} read */
  constructor(root, read) {
    Object.assign(this, { root, read, nodes: new Map() });
  }

  /** The node under a hash, against the row that leads to it (rule 5). */
  async #node(hash, prefix, row) {
    const read = () => readHashed(this.read, `map/${hash}`, { sha256: hash }, "map", MAX_NODE, "answer-too-large");
    const node = await once(this.nodes, hash, async () => parseNode(decodeText(await read(), "map-malformed")));
    const isInner = row !== null && row.names > MOST_NAMES;
    const isThere = node.prefix === prefix && (row === null || (node.names === row.names && (node.rows !== null) === isInner && (isInner || (node.low === row.low && node.high === row.high))));
    if (!isThere || (row === null && node.entries && !isWhole(node))) refuse("map-place", "A part of the registry's list of names is in the wrong place.");
    return node;
  }

  #below(node, row) {
    return this.#node(row.child, node.prefix + (row.names > MOST_NAMES ? hex([row.low]) : ""), row);
  }

  /** The name's index file, or null where the map proves that there is no such name. */
  async find(name) {
    const hash = await hashOfText(name);
    let node = await this.#node(this.root, "", null);
    while (node.rows) {
      const row = node.rows.find((one) => isIn(one, node.prefix, hash));
      if (row === undefined) return null;
      node = await this.#below(node, row);
    }
    return node.entries.find((entry) => entry.name === name) ?? null;
  }

  /** Every name with its index file. */
  async *all(node = null) {
    node ??= await this.#node(this.root, "", null);
    if (node.entries) yield* node.entries;
    for (const row of node.rows ?? []) yield* this.all(await this.#below(node, row));
  }
}
