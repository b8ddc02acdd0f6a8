/**
 * A client with what it trusts of one registry: the steps of docs/reference/protocol.md, "What a client does". State goes in and
 * comes out as a value; a refusal leaves the old one as it was.
 */
import { attempt, decodeText, hashOfText, refuse, sameBytes, sha256hex, utf8 } from "./encoding.mjs";
import { isOrigin, KINDS, namespaceOf } from "./grammar.mjs";
import { MAX_HEAD, parseHead, verifyHead } from "./heads.mjs";
import { ITEM_TYPES, readHistory } from "./history.mjs";
import { demandLeaves, parseLines, readIndex } from "./index.mjs";
import { Keysets, satisfies } from "./keysets.mjs";
import { Tree } from "./merkle.mjs";
import { NameMap } from "./name_map.mjs";
import { demandSigners, MAX_NOTE, parseNote } from "./notes.mjs";
import { acceptRoot, demandOwners, logKeys } from "./owners.mjs";
import { whoSigned } from "./signatures.mjs";
import { parseCheckpoint, parseStatement, sameKey } from "./statements.mjs";
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
  /** Accepts the newest head. @param {import("./transport.mjs").Read} read @param {State} state @param {number} now */
  static async open(read, state, now) {
    const client = new Client();
    Object.assign(client, { state: structuredClone(state), now, results: new Map() });
    client.read = (path, ...limits) => client.#once(path, () => read(path, ...limits));
    const config = state.head ? null : ((await client.read("config.json", MAX_CONFIG)) ?? refuse("not-found", "There is no registry at this address."));
    client.configured = config && originOf(decodeText(config, "answer-malformed"));
    await client.#refresh();
    return client;
  }

  /** What is asked for twice under one head is read and verified once. */
  #once(name, work) {
    if (!this.results.has(name)) this.results.set(name, work());
    return this.results.get(name);
  }

  async #refresh() {
    const { state } = this;
    const { newest, cosigned } = parseHead((await this.read("head", MAX_HEAD)) ?? refuse("not-found", "The registry has no head."));
    await this.#followRoots(newest.snapshot.root);
    const root = this.roots.at(-1);
    if (this.configured && this.configured !== root.origin) refuse("root-origin", "The address serves another registry.");
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
    this.owners = { roots: this.roots, sizes: state.sizes };
  }

  /** Roots from the trusted one on, if the head names a later one. */
  async #followRoots(named) {
    const { state } = this;
    this.roots = state.roots.map((note) => parseStatement(parseNote(note).text));
    while (this.roots.length === 0 || named > state.roots.length || this.roots.length > state.roots.length) {
      const next = this.roots.length + 1;
      if (next > state.roots.length + MAX_ROOTS) refuse("answer-too-large", "The registry has too many new roots.");
      const bytes = await this.read(`root/${next}`, MAX_NOTE);
      if (bytes === null) break;
      const note = decodeText(bytes, "note-malformed");
      this.roots.push(await acceptRoot(note, this.roots.at(-1) ?? null, state.fingerprint));
      this.notes = [...(this.notes ?? state.roots), note];
    }
    if (this.roots.length === 0) refuse("not-found", "The registry has no root.");
    state.roots = this.notes ?? state.roots;
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
    const bytes = await this.read("clock", MAX_CLOCK);
    const lines = bytes ? await parseLines(bytes, this.newest.size, this.newest.origin, ["rye.clock/v1"]) : [];
    const steps = lines.filter((one) => one.position >= before.size);
    await demandLeaves(steps, this.tree);
    let time = before.snapshot.time;
    for (const { said, note, position } of steps) {
      if (said.position !== position || said.before < time) refuse("clock-step", "A step back in time is not allowed here.");
      await demandOwners(note, position, this.roots, this.state.sizes, "clock-signer", before.snapshot.root);
      time = said.time;
    }
    if (this.newest.snapshot.time < time) refuse("snapshot-time", "The registry's snapshot is older than one that it showed before.");
  }

  /** The largest head that enough witnesses cosigned: of those that are shown, and the one that was accepted last. */
  async #demandWitnesses(newest, shown) {
    const { state, now } = this;
    const policy = await parsePolicy(state.policy);
    const logs = new Set((await logKeys(this.roots.at(-1))).map((key) => `${key.name}+${key.id}`));
    if (policy.logs.length && !policy.logs.some((log) => logs.has(log.split("+", 2).join("+")))) refuse("checkpoint-signature", "The policy is for another log.");
    const kept = state.cosigned && parseHead(utf8(`${JSON.stringify(state.cosigned)}\n`)).newest;
    let [best, why] = [null, "witness-quorum"];
    for (const head of [newest, shown, kept].filter(Boolean)) {
      if (head !== newest) await this.#demandPart(head);
      const { problem } = await standing(policy, head.note, now - state.age, now + FUTURE);
      if (problem === null && (best === null || head.size > best.size)) best = head;
      else if (problem === "witness-frozen") why = problem;
    }
    if (best === null) refuse(why, "Too few of the demanded witnesses cosigned a head, or too long ago.");
    if (kept && best.size < kept.size) refuse("head-rollback", "The registry shows an older cosigned head than was already seen.");
    state.cosigned = best.raw;
    return best;
  }

  async #demandPart(head) {
    const root = this.roots[head.snapshot.root - 1] ?? refuse("snapshot-root", "The cosigned head names a root that is not there.");
    await verifyHead(head, root);
    if (head.size > this.newest.size || !sameBytes(await this.tree.rootAt(head.size), head.root)) refuse("cosigned-head", "The cosigned head is no part of the log.");
  }

  /** Its verified keysets, or null where the map proves that there is no such namespace. @returns {Promise<Keysets | null>} */
  keysets(namespace) {
    return this.#once(`namespace:${namespace}`, () => this.#readKeysets(namespace));
  }

  async #readKeysets(namespace) {
    const row = await this.map.find(`namespace:${namespace}`);
    const [seen, last] = [this.state.keysets[namespace], this.head.size]; // what was seen behind a cosigned head does not exist yet
    if (row === null) return seen && seen.position < last ? refuse("namespace-vanished", "A namespace that was seen is no longer in the registry.") : null;
    const entries = await parseLines(await readIndex(row, this.read), this.head.size, this.head.origin, ["rye.keyset/v1"]);
    if (seen && seen.position < last && !entries.some((one) => one.position === seen.position && one.sha256 === seen.sha256)) refuse("keyset-fork", "The registry showed different keys for this namespace before.");
    const chain = await Keysets.read(entries, namespace, this.owners, this.head.snapshot.time);
    await demandLeaves(entries, this.tree);
    const unaccepted = entries.find(({ said, sha256 }) => said.recovery !== null && chain.isInEffect(said) && !this.state.accepted.includes(sha256));
    if (unaccepted) refuse("recovery-unaccepted", `The registry's owners gave new keys to ${namespace}: ${unaccepted.sha256}.`);
    if (!(seen?.position >= last)) this.state.keysets[namespace] = { position: entries.at(-1).position, sha256: entries.at(-1).sha256 };
    return chain;
  }

  /** What the registry states about an item, or null where the map proves that there is none. */
  history(identity) {
    return this.#once(identity, () => this.#readHistory(identity));
  }

  async #readHistory(identity) {
    const row = await this.map.find(identity);
    const keysets = await this.keysets(namespaceOf(identity));
    const known = Object.entries(this.state.takedowns[identity] ?? {}).filter(([, position]) => position < this.head.size);
    if (row === null) return known.length ? refuse("takedown-vanished", "A takedown that was seen is not there.") : null;
    if (keysets === null) refuse("statement-unclaimed", "The item's namespace has no keys.");
    const entries = await parseLines(await readIndex(row, this.read), this.head.size, this.head.origin, ITEM_TYPES);
    const history = await readHistory(entries, identity, keysets, this.owners);
    await demandLeaves(entries, this.tree);
    const down = Object.fromEntries([...history.releases].filter(([, one]) => one.takedown).map(([version, one]) => [version, one.takedown.position]));
    if (!known.every(([version]) => Object.hasOwn(down, version))) refuse("takedown-vanished", "A takedown that was seen is not there.");
    if (Object.keys(down).length) this.state.takedowns[identity] = { ...this.state.takedowns[identity], ...down };
    return history;
  }

  /** What the owners of a namespace say about it: the places that are proved to be theirs, and their own words. */
  async ownerStatements(namespace) {
    const bytes = await this.read(`owners/${namespace}`, MAX_OWNERS);
    const chain = await this.keysets(namespace);
    const lines = bytes ? await parseLines(bytes, Infinity, this.head.origin, OWNER_TYPES) : [];
    const entries = lines.filter((one) => one.position < this.head.size);
    await demandLeaves(entries, this.tree);
    const [places, seen] = [new Map(), new Set()];
    let [about, last] = [null, 0];
    for (const entry of entries) {
      const { said, sha256 } = entry;
      if (said.namespace !== namespace) refuse("index-foreign", "The file has a statement of another namespace.");
      if (said.keyset < last) refuse("statement-keyset", "The keysets of the owners' statements go back.");
      last = said.keyset;
      const signed = chain ? await chain.signed(entry, false) : refuse("statement-unclaimed", "The namespace has no keys.");
      if (signed.revoked || seen.has(sha256)) continue;
      seen.add(sha256);
      const isProof = said.type === "rye.proof/v1";
      if (isProof && said.fingerprint !== (await hashOfText(signed.keyset.text))) refuse("statement-keyset", "The statement names another keyset.");
      if (isProof) places.set(`${said.method} ${said.place}`, said);
      else about = said.about;
    }
    const proved = [...places.values()].filter((one) => one.state === "proved" && one.keyset === chain.last.said.number);
    return { places: [...new Set(proved.map((one) => one.place))].sort(), about, entries };
  }

  async release(identity, version) {
    const history = await this.history(identity);
    return history?.releases.get(version) ?? refuse("release-unknown", `There is no ${identity} ${version}.`);
  }

  /** All files of a release, after every check. @returns {Promise<{release: any, files: Map<string, Uint8Array>, key: any}>} */
  async fetch(identity, version) {
    const release = await this.release(identity, version);
    const { file, attached, id } = release.entry.said;
    if (release.takedown) refuse("release-taken-down", `The release was taken down: ${release.takedown.reason}`);
    if (release.revoked) refuse("signer-revoked", "The key that signed this release was revoked.");
    if (KINDS[id.split(":", 1)[0]].isFlat && id.split("/").length !== 2) refuse("item-misplaced", "An item of this kind is directly below its namespace.");
    const files = new Map();
    const isLarge = attached.length > MAX_ATTACHED || [file, ...attached].some((one) => one.size > MAX_FILE) || attached.reduce((sum, one) => sum + one.size, 0) > MAX_TOGETHER;
    if (isLarge) refuse("release-oversized", "The release is larger than this client accepts.");
    for (const { path, size, sha256 } of [{ path: file.suffix, ...file }, ...attached]) files.set(path, await this.blob(size, sha256));
    return { release, files, key: await this.signerOf(release, files.get(file.suffix)) };
  }

  async blob(size, sha256) {
    const bytes = (await this.read(`blobs/sha256/${sha256.slice(0, 2)}/${sha256}`, size, "blob-size")) ?? refuse("blob-missing", "A file of the release is missing.");
    if (bytes.length !== size) refuse("blob-size", "A file does not have the size that its release names.");
    return (await sha256hex(bytes)) === sha256 ? bytes : refuse("blob-hash", "A file does not have the bytes that its release names.");
  }

  /** The key of the release's keyset whose signature in the file counts. */
  async signerOf({ entry, keyset }, data) {
    const chain = await this.keysets(keyset.namespace);
    const keys = keyset.key.filter((key) => !chain.isRevoked(key, entry.position));
    const { key, how } = await whoSigned(data, `item${entry.said.file.suffix}`, keys);
    return satisfies(keyset.require, how) ? key : refuse("item-unsigned", "The item's file is not signed by a security key.");
  }

  /** Demands that the log under the accepted head continues a checkpoint that was noted elsewhere. */
  async demandContinued(checkpoint) {
    const note = parseNote(checkpoint);
    const { origin, size, root } = parseCheckpoint(note.text);
    if (origin !== this.head.origin) refuse("checkpoint-origin", "The noted checkpoint belongs to another registry.");
    const keys = (await Promise.all(this.roots.map(logKeys))).flat().filter((key, at, all) => all.findIndex((one) => sameKey(one, key)) === at);
    await demandSigners(note, keys, 1, "checkpoint-signature", "checkpoint-signature");
    if (size > this.newest.size) refuse("head-rollback", "The registry shows less than what was noted.");
    if (size > this.head.size) refuse("not-cosigned", "What was noted is not cosigned yet.");
    if (size > 0 && !sameBytes(await this.tree.rootAt(size), root)) refuse("head-fork", "The log does not continue the noted checkpoint.");
  }
}
