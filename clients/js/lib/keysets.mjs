/**
 * The keysets of a namespace: which follows which, which is in force where, and whose signatures count
 * (docs/reference/statements.md, "rye.keyset/v1").
 */
import { refuse } from "./encoding.mjs";
import { named, signersOf } from "./notes.mjs";
import { demandOwners } from "./owners.mjs";
import { sameKey } from "./statements.mjs";

/** @typedef {import("./index.mjs").Entry} Entry */
/** @typedef {import("./owners.mjs").Owners} Owners */

const NEEDS = { hardware: ["present", "verified"], "hardware-verified": ["verified"] };

/** Whether a signature made in this way counts where this is required. */
export const satisfies = (requirement, how) => NEEDS[requirement]?.includes(how) ?? true;

/** What the keysets so far lead to: the one in force, and a recovery that waits. */
class Force {
  current = null;
  waiting = null;

  /** Lets `entry` follow. @returns {Entry | null} the one before it */
  follow(entry) {
    const { said } = entry;
    if (this.waiting && said.number === this.waiting.said.number + 1) {
      if (said.time < this.waiting.said.recovery) refuse("keyset-chain", "A keyset follows a recovery before it takes effect.");
      [this.current, this.waiting] = [this.waiting, null];
    } else if (this.waiting && said.number === this.waiting.said.number && said.time >= this.waiting.said.recovery) {
      refuse("keyset-chain", "An objection comes after the recovery has taken effect.");
    }
    const before = this.current;
    if (said.number !== (before?.said.number ?? 0) + 1) refuse("keyset-number", "The keys of a namespace are numbered wrongly.");
    if (said.recovery === null) [this.current, this.waiting] = [entry, null];
    else this.waiting = entry;
    return before;
  }

  /** The keyset in force for what is dated `time`. */
  at = (time) => (this.waiting && time >= this.waiting.said.recovery ? this.waiting : this.current);
}

/** The verified keysets of one namespace under one head. */
export class Keysets {
  /** @param {Entry[]} entries @param {Owners} owners @param {number} now time of the snapshot */
  static async read(entries, namespace, owners, now) {
    const chain = Object.assign(new Keysets(), { entries, namespace, now, followed: [] });
    const force = new Force();
    for (const entry of entries) {
      const { said } = entry;
      if (said.namespace !== namespace) refuse("index-foreign", "An index file contains a keyset of another namespace.");
      const waiting = force.waiting?.said;
      // What follows a recovery that is not in effect by the snapshot's time has no effect before the recovery does.
      if (waiting && said.number > waiting.number && said.time >= waiting.recovery && now < waiting.recovery) continue;
      chain.followed.push(entry);
      await chain.#verify(entry, force.follow(entry), owners);
    }
    const last = force.at(now);
    return Object.assign(chain, { last, waiting: last === force.waiting ? null : force.waiting });
  }

  async #verify(entry, before, owners) {
    const { said, note } = entry;
    const isKept = (old) => said.revoke.some((one) => one.key.line === old.key.line && one.position === old.position);
    if (before && said.previous !== before.sha256) refuse("keyset-chain", "The new keys of a namespace do not follow from the previous ones.");
    if (before && !before.said.revoke.every(isKept)) refuse("keyset-revocations", "A new keyset omits a key that was revoked before.");
    if ((await this.#signers(note, said)).length < said.threshold) refuse("keyset-signatures", "Too few owners signed the new keys of a namespace.");
    if (said.recovery !== null) return demandOwners(entry, owners, "recovery-signatures");
    const isTaken = before && (await this.#signers(note, before.said)).length < before.said.threshold;
    if (isTaken) refuse("keyset-takeover", "The previous owners did not sign the new keys of a namespace.");
  }

  async #signers(note, keyset) {
    const keys = await Promise.all(keyset.key.map((key) => named(`${keyset.origin}/${keyset.namespace}`, key)));
    return [...(await signersOf(note, keys))].filter(([, how]) => satisfies(keyset.require, how)).map(([key]) => key);
  }

  /**
   * Who signed a statement about an item, under the keyset in force at its position.
   * @param {Entry} entry @returns {Promise<{keyset: any, signers: any[], revoked: boolean}>} `revoked`: too few signers are left
   */
  async signed({ said, position, note }) {
    const force = new Force();
    for (const one of this.followed) if (one.position < position) force.follow(one);
    const keyset = force.at(said.time)?.said ?? refuse("statement-unclaimed", "A statement is older than the namespace that it is about.");
    const isEarly = keyset.recovery !== null && this.now < keyset.recovery;
    if (said.keyset !== keyset.number || isEarly) refuse("statement-keyset", "A statement is signed under keys that were not valid.");
    const needed = (said.type === "rye.release/v1" && keyset["release-threshold"]) || 1;
    const signers = await this.#signers(note, keyset);
    if (signers.length < needed) refuse("statement-signer", "A statement is not signed by enough keys of its namespace.");
    return { keyset, signers, revoked: signers.filter((key) => !this.isRevoked(key, position)).length < needed };
  }

  /** Whether a recovery came into effect: nothing replaced it, and its time has come. */
  isInEffect = (recovery) =>
    this.now >= recovery.recovery && this.followed.findLast(({ said }) => said.number === recovery.number)?.said === recovery;

  /** Whether what `key` signed at `position` does not count any more. */
  isRevoked = (key, position) => this.last.said.revoke.some((one) => sameKey(one.key, key) && position >= one.position);
}
