/** What a registry states about one item: its releases, and what became of them. */
import { refuse } from "./encoding.mjs";
import { demandOwners } from "./owners.mjs";
import { covers, parseRange, parseVersion } from "./versions.mjs";

export const ITEM_TYPES = ["release", "yank", "deprecation", "advisory", "takedown"].map((type) => `rye.${type}/v1`);

/**
 * @typedef {object} Release
 * @property {import("./index.mjs").Entry} entry @property {any} keyset in force at its position @property {any[]} signers its keys that signed the release
 * @property {boolean} revoked too few of its signers are left @property {boolean} yanked @property {any} takedown or null
 * @property {string[]} advisories numbers of those that cover it
 */

/**
 * @param {import("./index.mjs").Entry[]} entries @param {import("./keysets.mjs").Keysets} keysets
 * @param {import("./keysets.mjs").Owners} owners
 * @returns {Promise<{releases: Map<string, Release>, deprecation: any}>} releases by version, in the order of the log
 */
export async function readHistory(entries, identity, keysets, owners) {
  const releases = new Map();
  const advisories = new Map();
  const seen = new Set();
  let [deprecation, lastKeyset] = [null, 0];
  for (const entry of entries) {
    const { said, note, position } = entry;
    if (said.id !== identity) refuse("index-foreign", "An index file contains a statement about something else.");
    const isRelease = said.type === "rye.release/v1";
    let signed = null;
    if (said.type === "rye.takedown/v1") await demandOwners(note, position, owners.roots, owners.sizes, "takedown-signer");
    else if (said.keyset === "root") await demandOwners(note, position, owners.roots, owners.sizes, "advisory-signer");
    else {
      if (said.keyset < lastKeyset) refuse("statement-keyset", "The keysets of an item's statements go back.");
      lastKeyset = said.keyset;
      signed = await keysets.signed(entry, isRelease);
    }
    const release = releases.get(said.version);
    if (isRelease) {
      if (release) refuse("release-repeated", "The registry has two releases of the same version.");
      releases.set(said.version, { entry, ...signed, yanked: false, takedown: null, advisories: [] });
      continue;
    }
    if (seen.has(entry.sha256)) continue; // a replay
    seen.add(entry.sha256);
    if (said.version !== undefined && !release) refuse("statement-unreleased", "A statement is about a version that was not released before.");
    if (said.type === "rye.takedown/v1") {
      const files = [release.entry.said.file, ...release.entry.said.attached].map((file) => file.sha256);
      if (!said.sha256.every((hash) => files.includes(hash))) refuse("takedown-foreign", "A takedown names a file that its release does not contain.");
      release.takedown = { ...said, position };
    } else if (signed?.revoked) continue; // its signers do not count any more
    else if (said.type === "rye.yank/v1") release.yanked = said.state === "yanked";
    else if (said.type === "rye.deprecation/v1") deprecation = said.state === "deprecated" ? said : null;
    else advisories.set(said.number, said);
  }
  for (const [version, release] of releases) {
    const parsed = parseVersion(version);
    release.advisories = [...advisories.values()].filter((one) => covers(parseRange(one.range), parsed)).map((one) => one.number).sort();
  }
  return { releases, deprecation, entries };
}
