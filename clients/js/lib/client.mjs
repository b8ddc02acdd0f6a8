/**
 * A client with what it trusts of one registry: the steps of docs/reference/protocol.md, "What a client does". State goes in and
 * comes out as a value; a refusal leaves the old one as it was.
 */
import { attempt, decodeText, hashOfText, once, refuse, sameBytes, utf8 } from "./encoding.mjs";
import { FLAT, isOrigin, namespaceOf } from "./grammar.mjs";
import { MAX_HEAD, parseHead, verifyHead } from "./heads.mjs";
import { ITEM_TYPES, readHistory, signedStatements } from "./history.mjs";
import { demandAgreement } from "./items.mjs";
import { readIndex, readLines } from "./index.mjs";
import { Keysets, satisfies } from "./keysets.mjs";
import { Tree } from "./merkle.mjs";
import { NameMap } from "./name_map.mjs";
import { demandSigners, MAX_NOTE, parseNote } from "./notes.mjs";
import { acceptRoot, demandOwners, logKeys } from "./owners.mjs";
import { whoSigned } from "./signatures.mjs";
import { parseCheckpoint, parseStatement } from "./statements.mjs";
import { readHashed } from "./transport.mjs";
import { parsePolicy, standing } from "./witnesses.mjs";

const [WARN, STOP, FUTURE, DAY] = [72 * 3600, 7 * 86400, 600, 86400];
const [MAX_CONFIG, MAX_CLOCK, MAX_OWNERS, MAX_ROOTS] = [64_000, 1_000_000, 2 ** 20, 1000];
const [MAX_FILE, MAX_ATTACHED, MAX_TOGETHER] = [4 * 2 ** 20, 200, 8 * 2 ** 20];
const CONFIG = ["protocol", "origin", "api", "witness_policy"];
const OWNER_TYPES = ["rye.proof/v1", "rye.description/v1"];

/**
 * @typedef {object} State
 * @property {string} fingerprint of root 1 @property {string[]} roots notes, from 1 @property {Record<number, number>} sizes of the first heads under them
 * @property {any} head the newest one accepted, as in `/head` @property {any} cosigned the largest one accepted with the policy
 * @property {Record<string, {position: number, sha256: string}>} keysets last seen @property {Record<string, Record<string, number>>} takedowns positions by version, by identity
 * @property {string[]} accepted recoveries @property {string | null} policy text @property {number} age of cosignatures, in seconds
 */

/** @returns {State} that trusts nothing but a fingerprint */
export const pinned = (fingerprint) => ({ fingerprint, roots: [], sizes: {}, head: null, cosigned: null, keysets: {}, takedowns: {}, accepted: [], policy: null, age: DAY });

/** The origin that `/config.json` names: a JSON object of its members, none of them twice. */
function originOf(text) {
  const config = attempt(() => JSON.parse(text));
  const keys = (text.match(/"(?:[^"\\]|\\.)*"\s*:?/g) ?? []).filter((one) => one.endsWith(":"));
  const isGood = config !== null && Object.keys(config).length === keys.length && Object.keys(config).every((key) => CONFIG.includes(key));
  if (!isGood) refuse("answer-malformed", "It is not a registry's config.json.");
  return config.protocol === 2 && isOrigin(String(config.origin)) ? config.origin : refuse("protocol-unknown", "The registry has another protocol.");
}

/** One registry under one head, verified step by step as it is asked. */
export class Client {
  constructor(read, state, now) {
    Object.assign(this, { state: structuredClone(state), now, results: new Map() });
    this.read = (path, ...limits) => once(this.results, path, () => read(path, ...limits)); // once under one head
  }

  /** @param {import("./transport.mjs").Read} read @param {State} state @param {number} now @returns {Promise<Client>} */
  static open = (read, state, now) => new Client(read, state, now).#accept();

  /** Steps 1 to 3: the newest head. */
  async #accept() {
    const { state } = this;
    const config = state.head ? null : ((await this.read("config.json", MAX_CONFIG)) ?? refuse("not-found", "There is no registry at this address."));
    const configured = config && originOf(decodeText(config, "answer-malformed"));
    const { newest, cosigned } = parseHead((await this.read("head", MAX_HEAD)) ?? refuse("not-found", "The registry has no head."));
    await this.#followRoots(newest.snapshot.root);
    this.owners = { roots: this.roots, sizes: state.sizes };
    const root = this.roots.at(-1);
    if (configured && configured !== root.origin) refuse("root-origin", "The address serves another registry.");
    if (newest.snapshot.root !== root.number) refuse("snapshot-root", "The snapshot names another root than the one in force.");
    if (root.expires <= this.now) refuse("root-expired", "The registry's root has expired.");
    await verifyHead(newest, root);
    this.newest = newest;
    this.tree = new Tree(newest.size, newest.root, this.read);
    const before = state.head && parseHead(utf8(`${JSON.stringify(state.head)}\n`)).newest;
    if (before) await this.#continue(before);
    if (newest.snapshot.time > this.now + FUTURE) refuse("snapshot-future", "The registry's head is dated in the future.");
    if (newest.snapshot.time < this.now - STOP) refuse("head-stale", "The registry's newest head is too old.");
    this.isOld = newest.snapshot.time < this.now - WARN;
    state.sizes[root.number] ??= newest.size;
    state.head = newest.raw;
    this.head = state.policy === null ? newest : await this.#demandWitnesses(newest, cosigned);
    this.map = new NameMap(this.head.snapshot.map, this.read);
    return this;
  }

  /** Roots from the trusted one on, if the head names a later one. */
  async #followRoots(named) {
    const { fingerprint, roots: notes } = this.state;
    const known = notes.length;
    this.roots = notes.map((note) => parseStatement(parseNote(note).text));
    for (let next = known + 1; named > known; next++) {
      if (next > known + MAX_ROOTS) refuse("answer-too-large", "The registry has too many new roots.");
      const bytes = await this.read(`root/${next}`, MAX_NOTE);
      if (bytes === null) break;
      notes.push(decodeText(bytes, "note-malformed"));
      this.roots.push(await acceptRoot(notes.at(-1), this.roots.at(-1) ?? null, fingerprint));
    }
    if (notes.length === 0) refuse("not-found", "The registry has no root.");
  }

  /** The newest head continues the one seen last, in time and in the log. */
  async #continue(before) {
    const { newest } = this;
    if (newest.size < before.size) refuse("head-rollback", "The registry shows an older state than was already seen.");
    if (newest.size === before.size && !sameBytes(newest.root, before.root)) refuse("head-fork", "The registry shows two different histories.");
    if (newest.size > before.size && !sameBytes(await this.tree.rootAt(before.size), before.root)) refuse("head-inconsistent", "The registry's new head does not continue the one that was seen.");
    if (newest.snapshot.time < before.snapshot.time) await this.#stepBack(before);
  }

  /** The steps back in time that lead from the last time seen to one that is not after the snapshot's. */
  async #stepBack(before) {
    const lines = await readLines(await this.read("clock", MAX_CLOCK), this.newest, ["rye.clock/v1"]);
    let time = before.snapshot.time;
    for (const { said, note, position } of lines.filter((one) => one.position >= before.size)) {
      await this.tree.demandLeaf(position, utf8(note.whole));
      if (said.position !== position || said.before < time) refuse("clock-step", "A step back in time is not allowed here.");
      await demandOwners({ note, position }, this.owners, "clock-signer", before.snapshot.root);
      time = said.time;
    }
    if (this.newest.snapshot.time < time) refuse("snapshot-time", "The registry's snapshot is older than one that it showed before.");
  }

  /** The largest head that enough witnesses cosigned: of those that are shown, and the one that was accepted last. */
  async #demandWitnesses(newest, shown) {
    const { state, now } = this;
    const policy = await parsePolicy(state.policy);
    const logs = new Set((await logKeys(this.roots.at(-1))).map((key) => `${key.name}+${key.id}`));
    if (policy.logs.length && !policy.logs.some(({ name, id }) => logs.has(`${name}+${id}`))) refuse("checkpoint-signature", "The policy is for another log.");
    const kept = state.cosigned && parseHead(utf8(`${JSON.stringify(state.cosigned)}\n`)).newest;
    let [best, why] = [null, "witness-quorum"];
    for (const head of [newest, shown, kept].filter(Boolean)) {
      const root = this.roots[head.snapshot.root - 1] ?? refuse("snapshot-root", "The cosigned head names a root that is not there.");
      const isPart = async () => head.size <= newest.size && sameBytes(await this.tree.rootAt(head.size), head.root);
      if (head !== newest) await verifyHead(head, root);
      if (head !== newest && !(await isPart())) refuse("cosigned-head", "The cosigned head is no part of the log.");
      const { problem } = await standing(policy, head.note, now - state.age, now + FUTURE);
      if (problem === null && (best === null || head.size > best.size)) best = head;
      else if (problem === "witness-frozen") why = problem;
    }
    if (best === null) refuse(why, "Too few of the demanded witnesses cosigned a head, or too long ago.");
    if (kept && best.size < kept.size) refuse("head-rollback", "The registry shows an older cosigned head than was already seen.");
    state.cosigned = best.raw;
    return best;
  }

  /** Its verified keysets, or null where the map proves that there is no such namespace. @returns {Promise<Keysets | null>} */
  keysets = (namespace) => once(this.results, `namespace:${namespace}`, () => this.#readKeysets(namespace));

  async #readKeysets(namespace) {
    const row = await this.map.find(`namespace:${namespace}`);
    const [seen, last] = [this.state.keysets[namespace], this.head.size]; // what was seen behind a cosigned head does not exist yet
    if (row === null) return seen && seen.position < last ? refuse("namespace-vanished", "A namespace that was seen is no longer in the registry.") : null;
    const entries = await readLines(await readIndex(row, this.read), this.head, ["rye.keyset/v1"]);
    if (seen && seen.position < last && !entries.some((one) => one.position === seen.position && one.sha256 === seen.sha256)) refuse("keyset-fork", "The registry showed different keys for this namespace before.");
    const chain = await Keysets.read(entries, namespace, this.owners, this.head.snapshot.time);
    for (const { position, note } of entries) await this.tree.demandLeaf(position, utf8(note.whole));
    const unaccepted = entries.find(({ said, sha256 }) => said.recovery !== null && chain.isInEffect(said) && !this.state.accepted.includes(sha256));
    if (unaccepted) refuse("recovery-unaccepted", `The registry's owners gave new keys to ${namespace}: ${unaccepted.sha256}.`);
    if (!(seen?.position >= last)) this.state.keysets[namespace] = { position: entries.at(-1).position, sha256: entries.at(-1).sha256 };
    return chain;
  }

  /** What the registry states about an item, or null where the map proves that there is none. */
  history = (identity) => once(this.results, identity, () => this.#readHistory(identity));

  async #readHistory(identity) {
    const row = await this.map.find(identity);
    const keysets = await this.keysets(namespaceOf(identity));
    const known = Object.entries(this.state.takedowns[identity] ?? {}).filter(([, position]) => position < this.head.size);
    if (row === null) return known.length ? refuse("takedown-vanished", "A takedown that was seen is not there.") : null;
    if (keysets === null) refuse("statement-unclaimed", "The item's namespace has no keys.");
    const entries = await readLines(await readIndex(row, this.read), this.head, ITEM_TYPES);
    const history = await readHistory(entries, identity, keysets, this.owners);
    for (const { position, note } of entries) await this.tree.demandLeaf(position, utf8(note.whole));
    const down = Object.fromEntries([...history.releases].filter(([, one]) => one.takedown).map(([version, one]) => [version, one.takedown.position]));
    if (!known.every(([version]) => Object.hasOwn(down, version))) refuse("takedown-vanished", "A takedown that was seen is not there.");
    if (Object.keys(down).length) this.state.takedowns[identity] = { ...this.state.takedowns[identity], ...down };
    return history;
  }

  /** What the owners of a namespace say about it: the places that are proved to be theirs, and their own words. */
  async ownerStatements(namespace) {
    const chain = await this.keysets(namespace);
    const entries = await readLines(await this.read(`owners/${namespace}`, MAX_OWNERS), this.head, OWNER_TYPES, true);
    for (const { position, note } of entries) await this.tree.demandLeaf(position, utf8(note.whole));
    const [places, seen] = [new Map(), new Set()];
    let about = null;
    for await (const { said, sha256, signed } of signedStatements(entries, namespace, chain, this.owners)) {
      if (signed.revoked || seen.has(sha256)) continue;
      seen.add(sha256);
      if (said.type === "rye.description/v1") about = said.about;
      else if (said.fingerprint === (await hashOfText(signed.keyset.text))) places.set(`${said.method} ${said.place}`, said);
      else refuse("statement-keyset", "The statement names another keyset.");
    }
    const proved = [...places.values()].filter((one) => one.state === "proved" && one.keyset === chain.last.said.number);
    return { places: [...new Set(proved.map((one) => one.place))].sort(), about, entries };
  }

  release = async (identity, version) =>
    (await this.history(identity))?.releases.get(version) ?? refuse("release-unknown", `There is no ${identity} ${version}.`);

  /** All files of a release, after every check. @returns {Promise<{release: any, files: Map<string, Uint8Array>, key: any}>} */
  async fetch(identity, version) {
    const release = await this.release(identity, version);
    const { entry, keyset } = release;
    const { file, attached, id } = entry.said;
    if (release.takedown) refuse("release-taken-down", `The release was taken down: ${release.takedown.reason}`);
    if (release.revoked) refuse("signer-revoked", "The key that signed this release was revoked.");
    if (FLAT.includes(id.split(":", 1)[0]) && id.split("/").length !== 2) refuse("item-misplaced", "An item of this kind is directly below its namespace.");
    const files = new Map();
    const isLarge = attached.length > MAX_ATTACHED || [file, ...attached].some((one) => one.size > MAX_FILE) || attached.reduce((sum, one) => sum + one.size, 0) > MAX_TOGETHER;
    if (isLarge) refuse("release-oversized", "The release is larger than this client accepts.");
    for (const one of [{ path: file.suffix, ...file }, ...attached]) {
      files.set(one.path, await readHashed(this.read, `blobs/sha256/${one.sha256.slice(0, 2)}/${one.sha256}`, one, "blob"));
    }
    const chain = await this.keysets(namespaceOf(identity));
    const keys = keyset.key.filter((key) => !chain.isRevoked(key, entry.position));
    const { key, how } = await whoSigned(files.get(file.suffix), `item${file.suffix}`, keys);
    if (!satisfies(keyset.require, how)) refuse("item-unsigned", "The item's file is not signed by a security key.");
    return { release, files, key, declared: demandAgreement(entry.said, files.get(file.suffix)) };
  }

  /** Demands that the log under the accepted head continues a checkpoint that was noted elsewhere. */
  async demandContinued(checkpoint) {
    const note = parseNote(checkpoint);
    const { origin, size, root } = parseCheckpoint(note.text);
    if (origin !== this.head.origin) refuse("checkpoint-origin", "The noted checkpoint belongs to another registry.");
    const keys = (await Promise.all(this.roots.map(logKeys))).flat();
    await demandSigners(note, keys, 1, "checkpoint-signature", "checkpoint-signature");
    if (size > this.newest.size) refuse("head-rollback", "The registry shows less than what was noted.");
    if (size > this.head.size) refuse("not-cosigned", "What was noted is not cosigned yet.");
    if (!sameBytes(await this.tree.rootAt(size), root)) refuse("head-fork", "The log does not continue the noted checkpoint.");
  }
}
