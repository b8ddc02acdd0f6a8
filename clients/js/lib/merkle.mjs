/**
 * Merkle trees of RFC 6962: proofs, and the tiles from which a client makes its own (c2sp.org/tlog-tiles;
 * docs/reference/protocol.md, step 3 of "What a client does").
 */
import { concat, once, refuse, sameBytes, sha256 } from "./encoding.mjs";

const WIDTH = 256;

export const leafHash = (data) => sha256(concat(Uint8Array.of(0), data));
export const nodeHash = (left, right) => sha256(concat(Uint8Array.of(1), left, right));

/** The root of a tree whose perfect subtrees, from left to right, have these roots. */
const fold = (hashes) => hashes.slice(0, -1).reduceRight(async (right, left) => nodeHash(left, await right), hashes.at(-1));

async function perfect(hashes) {
  const half = hashes.length / 2;
  return hashes.length === 1 ? hashes[0] : nodeHash(await perfect(hashes.slice(0, half)), await perfect(hashes.slice(half)));
}

/** The leaves left of the root of a tree: the largest power of two that is less than its size. */
const leftOf = (size) => 2 ** ((size - 1).toString(2).length - 1);

/** The root that an inclusion proof leads to. @param {Uint8Array[]} path from the leaf's sibling up */
export async function rootOfInclusion(index, size, leaf, path) {
  if (!(index < size)) refuse("proof-range", "The entry is beyond the end of the log.");
  if ((size === 1) !== (path.length === 0)) refuse("proof-length", "The proof has too few parts, or too many.");
  if (size === 1) return leaf;
  const [left, beside, below] = [leftOf(size), path.at(-1), path.slice(0, -1)];
  if (index < left) return nodeHash(await rootOfInclusion(index, left, leaf, below), beside);
  return nodeHash(beside, await rootOfInclusion(index - left, size - left, leaf, below));
}

/** `tile/<L>/<N>[.p/<W>]`; level "entries" has the leaves. */
export function tilePath(level, index, width = WIDTH) {
  const digits = String(index).padStart(Math.ceil(String(index).length / 3) * 3, "0");
  return `tile/${level}/${digits.replace(/\d{3}(?=\d)/g, "x$&/")}${width < WIDTH ? `.p/${width}` : ""}`;
}

/** Splits the range [start, end) into the perfect subtrees of the tree, largest first: pairs of level and index. */
function* subtrees(start, end) {
  while (start < end) {
    let level = 0;
    while (start % 2 ** (level + 1) === 0 && start + 2 ** (level + 1) <= end) level++;
    yield [level, start / 2 ** level];
    start += 2 ** level;
  }
}

/**
 * A log at one size, read by its tiles. Every hash that it gives leads to the root: the partial tiles together, each full
 * tile to its parent's entry.
 */
export class Tree {
  /** @param {(path: string, limit: number) => Promise<Uint8Array | null>} read null: there is no such file */
  constructor(size, root, read) {
    Object.assign(this, { size, root, read, tiles: new Map(), edge: null });
  }

  async #hashes(level, index, width) {
    let bytes = await this.read(tilePath(level, index, width), WIDTH * 32);
    if (bytes === null && width < WIDTH) bytes = (await this.read(tilePath(level, index), WIDTH * 32))?.slice(0, width * 32) ?? null;
    if ((bytes ?? refuse("tile-missing", "A part of the registry's log is missing.")).length !== width * 32) refuse("tile-size", "A part of the registry's log has the wrong size.");
    return Array.from({ length: width }, (_, at) => bytes.slice(at * 32, at * 32 + 32));
  }

  /** The partial tiles, by level, which together have the root. */
  async #edges() {
    const edges = new Map();
    for (let level = 0, count = this.size; count > 0; level++, count = Math.floor(count / WIDTH)) {
      if (count % WIDTH) edges.set(level, await this.#hashes(level, Math.floor(count / WIDTH), count % WIDTH));
    }
    const part = (entries) => ([level, at]) => perfect(entries.slice(at * 2 ** level, (at + 1) * 2 ** level));
    const parts = [...edges.values()].reverse().flatMap((entries) => [...subtrees(0, entries.length)].map(part(entries)));
    const root = await fold(await Promise.all(parts));
    if (!sameBytes(root, this.root)) refuse("tile-root", "The registry's log does not lead to its signed head.");
    return edges;
  }

  async #tile(level, index) {
    const edges = await (this.edge ??= this.#edges());
    if (index === Math.floor(this.size / WIDTH ** (level + 1)) && edges.has(level)) return edges.get(level);
    return once(this.tiles, `${level}/${index}`, () => this.#full(level, index));
  }

  async #full(level, index) {
    const parent = (await this.#tile(level + 1, Math.floor(index / WIDTH)))[index % WIDTH];
    const entries = await this.#hashes(level, index, WIDTH);
    if (!sameBytes(await perfect(entries), parent)) refuse("tile-parent", "A part of the registry's log was changed.");
    return entries;
  }

  /** The hash of the perfect subtree `index` of 2^`level` leaves. */
  async #subtree(level, index) {
    const width = 2 ** (level % 8);
    const tile = await this.#tile(Math.floor(level / 8), Math.floor((index * width) / WIDTH));
    return perfect(tile.slice((index * width) % WIDTH, ((index * width) % WIDTH) + width));
  }

  #range = async (start, end) => fold(await Promise.all([...subtrees(start, end)].map((one) => this.#subtree(...one))));

  leaf = (index) => (index < this.size ? this.#subtree(0, index) : refuse("proof-range", "The log has no such entry."));

  /** Demands that an entry is the leaf at its position. */
  async demandLeaf(index, data, code = "leaf-mismatch") {
    if (!sameBytes(await leafHash(data), await this.leaf(index))) refuse(code, "The log has another entry at this position.");
  }

  /** The root that the log had at a smaller size; an empty one's is the hash of nothing (RFC 6962 section 2.1). */
  rootAt = (size) => size > this.size ? refuse("proof-range", "The log has no such size.")
    : size > 0 ? this.#range(0, size) : sha256(new Uint8Array());

  /** The inclusion proof of a leaf in the tree as it was at `end`, or in what is between `start` and `end`. */
  async inclusion(index, end = this.size, start = 0) {
    if (end - start === 1) return [];
    const middle = start + leftOf(end - start);
    if (index < middle) return [...(await this.inclusion(index, middle, start)), await this.#range(middle, end)];
    return [...(await this.inclusion(index, end, middle)), await this.#range(start, middle)];
  }
}
