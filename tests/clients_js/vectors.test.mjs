/** The second client comes to the same verdicts on every vector of tests/vectors and on the tables of tests/signing. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { isPublicKey, parseKey, verifies } from "../../clients/js/lib/ed25519.mjs";
import { hex, sha256hex, utf8 } from "../../clients/js/lib/encoding.mjs";
import { leafHash, nodeHash, rootOfInclusion, Tree } from "../../clients/js/lib/merkle.mjs";
import { demandSigners, parseNote, parseVerifierKey } from "../../clients/js/lib/notes.mjs";
import { parseCheckpoint, parseStatement } from "../../clients/js/lib/statements.mjs";
import { allows, parseRange, parseVersion } from "../../clients/js/lib/versions.mjs";
import { fromHex, jsonOf, textOf, verdict } from "./reading.mjs";

const rows = (path) => textOf(path).trimEnd().split("\n").filter((line) => !line.startsWith("#"));

test("Ed25519: exactly the strict cases of CCTV are accepted", async () => {
  const tables = {};
  let name = "";
  for (const line of rows("tests/signing/ed25519_points.txt")) {
    if (line.startsWith("[")) tables[(name = line.slice(1, -1))] = [];
    else tables[name].push(line);
  }
  const counts = { true: 0, false: 0 };
  for (const line of tables.cases) {
    const [key, r, s, number, bits] = line.split(" ");
    const message = utf8(`ed25519vectors${number === "-" ? "" : ` ${number}`}`);
    const signature = fromHex(tables.R[r] + tables.S[s]);
    const flags = parseInt(bits, 16);
    const expected = (flags & ~0b1100) === 0; // only points with a component of small order
    assert.equal(await verifies(fromHex(tables.keys[key]), message, signature), expected, line);
    assert.equal(isPublicKey(fromHex(tables.keys[key])), (flags & 0b100010) === 0, line);
    counts[expected]++;
  }
  assert.deepEqual(counts, { true: 43, false: 871 });
});

test("Ed25519: exactly the valid signatures of Wycheproof are accepted", async () => {
  const counts = { valid: 0, invalid: 0 };
  let key = null;
  for (const line of rows("tests/signing/ed25519_signatures.txt")) {
    const words = line.split(" ");
    if (words[0] === "key") key = fromHex(words[1]);
    else {
      const [, result, signature, message] = words.map((word) => word.replace("-", ""));
      assert.equal(await verifies(key, fromHex(message), fromHex(signature)), result === "valid", line);
      counts[result]++;
    }
  }
  assert.deepEqual(counts, { valid: 88, invalid: 63 });
});

test("Ed25519: keys and signatures that must never be accepted", async () => {
  const { accept, keys, signatures } = jsonOf("tests/vectors/signatures/ed25519.json");
  const check = ({ key, message, signature }) => verifies(fromHex(key), utf8(message), fromHex(signature));
  assert.equal(await check(accept), true);
  for (const { key, why } of keys) {
    assert.equal(await verdict(() => parseKey(btoa(String.fromCharCode(...fromHex(key))))), "statement-key", why);
  }
  for (const one of signatures) assert.equal(await check(one), false, one.why);
});

test("signed notes", async () => {
  const { valid, invalid, c2sp_cosigned_checkpoint: cosigned } = jsonOf("tests/vectors/notes/notes.json");
  const check = async ({ vkeys, threshold, note }) => demandSigners(parseNote(note), await Promise.all(vkeys.map(parseVerifierKey)), threshold);
  for (const one of valid) assert.equal(await verdict(() => check(one)), "accepted", one.name);
  for (const one of invalid) {
    const got = await verdict(() => check(one));
    const keyIsRefused = one.name === "a key of small order" && got === "note-key-invalid";
    assert.ok(got === one.code || keyIsRefused, `${one.name}: ${got}`);
  }
  assert.equal(parseNote(cosigned.note ?? cosigned).lines.length, 2);
});

test("Merkle proofs of RFC 6962", async () => {
  const { leaves, roots, inclusion } = jsonOf("tests/vectors/merkle/rfc6962.json");
  for (const { index, size, path } of inclusion) {
    const hashes = path.map(fromHex);
    const leaf = await leafHash(fromHex(leaves[index]));
    assert.equal(hex(await rootOfInclusion(index, size, leaf, hashes)), roots[size]);
    assert.equal(await verdict(() => rootOfInclusion(index, size, leaf, [...hashes, leaf])), "proof-length");
    if (hashes.length) assert.equal(await verdict(() => rootOfInclusion(index, size, leaf, hashes.slice(1))), "proof-length");
  }
});

test("tiles of a log whose leaf i is the decimal i", async () => {
  const { roots, tiles } = jsonOf("tests/vectors/merkle/tiles.json");
  const leaves = await Promise.all(Array.from({ length: 70_000 }, (_, at) => leafHash(utf8(String(at)))));
  const level1 = [];
  for (let n = 0; n < 273; n++) level1.push(await rootOf(leaves.slice(n * 256, n * 256 + 256)));
  const level2 = [await rootOf(level1.slice(0, 256))];
  const hashes = [leaves, level1, level2];
  for (const [text, root] of Object.entries(roots)) {
    const size = Number(text);
    const asked = new Map();
    const read = async (path) => {
      const [, level, name, width] = /^tile\/(\d+)\/([x\d/]+)(?:\.p\/(\d+))?$/.exec(path);
      const index = Number(name.replace(/[x/]/g, ""));
      const entries = hashes[level].slice(index * 256, index * 256 + Number(width ?? 256));
      const bytes = new Uint8Array(entries.length * 32);
      entries.forEach((hash, at) => bytes.set(hash, at * 32));
      asked.set(path, await sha256hex(bytes));
      return bytes;
    };
    const tree = new Tree(size, fromHex(root), read);
    for (const index of [0, size - 1, Math.floor(size / 2)]) {
      assert.deepEqual(await tree.leaf(index), leaves[index]);
      assert.equal(hex(await rootOfInclusion(index, size, leaves[index], await tree.inclusion(index))), root);
    }
    for (const smaller of Object.keys(roots).map(Number).filter((other) => other <= size)) {
      assert.equal(hex(await tree.rootAt(smaller)), roots[smaller]);
    }
    for (const [path, hash] of Object.entries(tiles[text] ?? {})) {
      if (asked.has(path)) assert.equal(asked.get(path), hash, path);
    }
    assert.equal(await verdict(() => new Tree(size, fromHex(roots["1"] === root ? roots["2"] : roots["1"]), read).leaf(0)), "tile-root");
  }
});

async function rootOf(hashes) {
  let row = hashes;
  while (row.length > 1) row = await Promise.all(row.filter((_, at) => at % 2 === 0).map((left, at) => nodeHash(left, row[at * 2 + 1])));
  return row[0];
}

const STATEMENTS = ["advisory", "advisory-by-root", "clock", "deprecation", "description", "keyset-1", "keyset-2", "keyset-3-recovery", "keyset-hardware", "policy", "proof", "proof-withdrawn", "release-directive", "release-skill", "root-1", "root-2", "snapshot", "snapshot-former", "support", "takedown", "unyank", "yank"];
const parse = (name, text) => (name === "checkpoint" ? parseCheckpoint(text) : parseStatement(text));

test("statements", async () => {
  for (const name of [...STATEMENTS, "checkpoint"]) parse(name, textOf(`tests/vectors/statements/${name}.txt`));
  for (const { statement, find, replace, why } of jsonOf("tests/vectors/statements/invalid.json")) {
    const text = textOf(`tests/vectors/statements/${statement}.txt`);
    assert.ok(text.includes(find));
    assert.notEqual(await verdict(() => parse(statement, text.replace(find, () => replace))), "accepted", `${statement}: ${why}`);
  }
});

test("version ranges", async () => {
  for (const line of rows("tests/resolution/npm_semver_table.csv").slice(1)) {
    const [, range, version, expected] = /^"(.*)","(.*)",(\w+)$/.exec(line);
    if (version.includes("+")) continue; // no statement has such a version
    const got = await verdict(() => assert.equal(allows(parseRange(range), parseVersion(version)), expected === "yes", line));
    assert.equal(got, expected === "invalid" ? "statement-malformed" : "accepted", line);
  }
});
