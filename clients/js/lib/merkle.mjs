/** Merkle trees of RFC 6962: proofs, and the tiles from which a client makes its own (c2sp.org/tlog-tiles). */
import { concat, refuse, sameBytes, sha256 } from "./encoding.mjs";

const WIDTH = 256;

export const leafHash = (data) => sha256(concat(Uint8Array.of(0), data));
export const nodeHash = (left, right) => sha256(concat(Uint8Array.of(1), left, right));

/** The root of a tree whose perfect subtrees, from left to right, have these roots. */
const fold = (hashes) => hashes.slice(0, -1).reduceRight(async (right, left) => nodeHash(left, await right), hashes.at(-1));

async function perfect(hashes) {
  const half = hashes.length / 2;
  return hashes.length === 1 ? hashes[0] : nodeHash(await perfect(hashes.slice(0, half)), await perfect(hashes.slice(half)));
}

/** The root that an inclusion proof leads to. @param {Uint8Array[]} path */
export async function rootOfInclusion(index, size, leaf, path) {
  if (!(index < size)) refuse("proof-range", "The entry is beyond the end of the log.");
  let [node, last, hash, at] = [index, size - 1, leaf, 0];
  for (; last > 0; node = Math.floor(node / 2), last = Math.floor(last / 2)) {
    const isRight = node % 2 === 1;
    if (!isRight && node === last) continue;
    if (at === path.length) refuse("proof-length", "The proof has too few parts.");
    hash = isRight ? await nodeHash(path[at++], hash) : await nodeHash(hash, path[at++]);
  }
  if (at !== path.length) refuse("proof-length", "The proof has too many parts.");
  return hash;
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

  async #fetch(level, index, width) {
    let bytes = await this.read(tilePath(level, index, width), WIDTH * 32);
    if (bytes === null && width < WIDTH) bytes = (await this.read(tilePath(level, index), WIDTH * 32))?.slice(0, width * 32) ?? null;
    if ((bytes ?? refuse("tile-missing", "A part of the registry's log is missing.")).length !== width * 32) refuse("tile-size", "A part of the registry's log has the wrong size.");
    return Array.from({ length: width }, (_, at) => bytes.slice(at * 32, at * 32 + 32));
  }

  /** The partial tiles, by level, which together have the root. */
  async #edges() {
    const edges = new Map();
    for (let level = 0, count = this.size; count > 0; level++, count = Math.floor(count / WIDTH)) {
      if (count % WIDTH) edges.set(level, await this.#fetch(level, Math.floor(count / WIDTH), count % WIDTH));
    }
    const peaks = [];
    for (const [, entries] of [...edges].reverse()) {
      for (const [level, at] of subtrees(0, entries.length)) peaks.push(await perfect(entries.slice(at * 2 ** level, (at + 1) * 2 ** level)));
    }
    if (!sameBytes(await fold(peaks), this.root)) refuse("tile-root", "The registry's log does not lead to its signed head.");
    return edges;
  }

  async #tile(level, index) {
    const edges = await (this.edge ??= this.#edges());
    if (index === Math.floor(this.size / WIDTH ** (level + 1)) && edges.has(level)) return edges.get(level);
    const key = `${level}/${index}`;
    if (!this.tiles.has(key)) this.tiles.set(key, this.#full(level, index));
    return this.tiles.get(key);
  }

  async #full(level, index) {
    const parent = (await this.#tile(level + 1, Math.floor(index / WIDTH)))[index % WIDTH];
    const entries = await this.#fetch(level, index, WIDTH);
    if (!sameBytes(await perfect(entries), parent)) refuse("tile-parent", "A part of the registry's log was changed.");
    return entries;
  }

  /** The hash of the perfect subtree `index` of 2^`level` leaves. */
  async #subtree(level, index) {
    const [deep, above] = [Math.floor(level / 8), level % 8];
    const first = index * 2 ** above;
    const tile = await this.#tile(deep, Math.floor(first / WIDTH));
    return perfect(tile.slice(first % WIDTH, (first % WIDTH) + 2 ** above));
  }

  async #range(start, end) {
    return fold(await Promise.all([...subtrees(start, end)].map(([level, index]) => this.#subtree(level, index))));
  }

  leaf(index) {
    if (!(index < this.size)) refuse("proof-range", "The entry is beyond the end of the log.");
    return this.#subtree(0, index);
  }

  /** The root that the log had at a smaller size. */
  rootAt(size) {
    if (!(size > 0 && size <= this.size)) refuse("proof-range", "The log has no such size.");
    return this.#range(0, size);
  }

  /** The inclusion proof of a leaf in the tree as it was at `size`. */
  async inclusion(index, size = this.size) {
    const path = [];
    for (let [start, end] = [0, size]; end - start > 1; ) {
      let middle = 1;
      while (middle * 2 < end - start) middle *= 2;
      const isLeft = index < start + middle;
      path.unshift(isLeft ? await this.#range(start + middle, end) : await this.#range(start, start + middle));
      [start, end] = isLeft ? [start, start + middle] : [start + middle, end];
    }
    return path;
  }
}
