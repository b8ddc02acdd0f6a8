/** What a registry states about one item: its releases, and what became of them (docs/reference/statements.md). */
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
 * The statements about one name, in the order of the log, and who of the namespace signed each; null: the registry's owners.
 * @param {import("./index.mjs").Entry[]} entries @param {import("./keysets.mjs").Keysets | null} keysets
 * @param {import("./owners.mjs").Owners} owners
 */
export async function* signedStatements(entries, name, keysets, owners) {
  let last = 0;
  for (const entry of entries) {
    const { type, keyset, id, namespace } = entry.said;
    if ((id ?? namespace) !== name) refuse("index-foreign", "An index file contains a statement about something else.");
    const isOwners = type === "rye.takedown/v1" || keyset === "root";
    if (isOwners) await demandOwners(entry, owners, type === "rye.takedown/v1" ? "takedown-signer" : "advisory-signer");
    else if (keyset < last) refuse("statement-keyset", "The keysets of the statements about a name go back.");
    else last = keyset;
    if (!isOwners && keysets === null) refuse("statement-unclaimed", "The namespace has no keys.");
    yield { ...entry, signed: isOwners ? null : await keysets.signed(entry) };
  }
}

/** @returns {Promise<{releases: Map<string, Release>, deprecation: any, entries: any[]}>} releases by version, in the order of the log */
export async function readHistory(entries, identity, keysets, owners) {
  const [releases, advisories, seen] = [new Map(), new Map(), new Set()];
  let deprecation = null;
  for await (const { said, position, sha256, signed, note } of signedStatements(entries, identity, keysets, owners)) {
    const release = releases.get(said.version);
    if (said.type === "rye.release/v1") {
      if (release) refuse("release-repeated", "The registry has two releases of the same version.");
      const entry = { said, position, sha256, note };
      releases.set(said.version, { entry, ...signed, yanked: false, takedown: null, advisories: [] });
      continue;
    }
    if (seen.has(sha256)) continue; // a replay
    seen.add(sha256);
    if (said.version !== undefined && !release) refuse("statement-unreleased", "A statement is about a version that was not released before.");
    if (said.type === "rye.takedown/v1") {
      const files = [release.entry.said.file, ...release.entry.said.attached].map((file) => file.sha256);
      if (!said.sha256.every((hash) => files.includes(hash))) refuse("takedown-foreign", "A takedown names a file that its release does not contain.");
      release.takedown = { ...said, position };
    } else if (signed?.revoked) continue; // its signers do not count any more
    else if (said.type === "rye.yank/v1") release.yanked = said.state === "yanked";
    else if (said.type === "rye.deprecation/v1") deprecation = said.state === "deprecated" ? said : null;
    else advisories.set(`${said.number} ${signed === null}`, said); // neither owners nor namespace replace what the others said
  }
  const isCovered = (version) => ({ range }) => covers(parseRange(range), parseVersion(version));
  const numbersOf = (version) => [...advisories.values()].filter(isCovered(version)).map((one) => one.number).filter((number, at, all) => all.indexOf(number) === at).sort();
  for (const [version, release] of releases) release.advisories = numbersOf(version);
  return { releases, deprecation, entries };
}
