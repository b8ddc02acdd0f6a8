#!/usr/bin/env node
/** Answers the requests of the conformance suite: one JSON object a line in, one a line out. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { Client, pinned } from "./lib/client.mjs";
import { base64, refuse, seconds, sha256hex, timeText } from "./lib/encoding.mjs";
import { logKeys } from "./lib/owners.mjs";
import { parseKey } from "./lib/ed25519.mjs";
import { parseNote, parseVerifierKey } from "./lib/notes.mjs";
import { parseProof, prove, verifyProof } from "./lib/proofs.mjs";
import { whoSigned } from "./lib/signatures.mjs";
import { parseStatement } from "./lib/statements.mjs";
import { reader } from "./lib/transport.mjs";

/** The class of each code; what is not here ends in `-malformed` and is malformed. */
const CLASSES = {
  malformed: "malformed protocol-unknown note-base64 note-key-invalid statement-kind statement-key snapshot-former index-position map-malformed tile-size snapshot-kind head-empty bad-lock item-invalid item-unread",
  limit: "note-too-large answer-too-large release-oversized",
  signature: "note-signature-wrong note-threshold root-signatures root-takeover checkpoint-signature snapshot-signature keyset-signatures keyset-takeover recovery-signatures statement-signer takedown-signer advisory-signer clock-signer bad-signature untrusted item-unsigned cosignature-wrong",
  unsigned: "unsigned",
  hash: "map-hash index-hash index-size blob-hash blob-size modified other-bytes",
  proof: "snapshot-proof proof-root proof-length proof-range tile-root tile-parent leaf-mismatch",
  foreign: "checkpoint-origin snapshot-origin root-origin entry-foreign index-foreign map-place proof-origin",
  chain: "root-number root-chain root-time keyset-number keyset-chain keyset-revocations snapshot-root",
  keyset: "statement-keyset statement-unclaimed",
  history: "release-repeated statement-unreleased takedown-foreign",
  rollback: "head-rollback snapshot-time clock-step",
  fork: "head-fork head-inconsistent keyset-fork cosigned-head",
  vanished: "namespace-vanished takedown-vanished release-vanished release-changed",
  stale: "head-stale witness-frozen",
  future: "snapshot-future",
  expired: "root-expired",
  fingerprint: "root-fingerprint",
  unpinned: "registry-unpinned",
  recovery: "recovery-unaccepted",
  revoked: "signer-revoked",
  withdrawn: "release-taken-down",
  witness: "witness-quorum not-cosigned",
  mismatch: "item-misplaced manifest-mismatch snapshot-map wrong-statement",
  "not-found": "release-unknown",
  unavailable: "not-found map-missing index-missing tile-missing blob-missing registry-failed registry-unreachable",
};
const CLASS_OF = new Map(Object.entries(CLASSES).flatMap(([name, codes]) => codes.split(" ").map((code) => [code, name])));

const stateFile = (home) => join(home, "state.json");

function load(request) {
  if (!existsSync(stateFile(request.home))) refuse("registry-unpinned", "The registry is not pinned.");
  return JSON.parse(readFileSync(stateFile(request.home), "utf8"));
}

async function accept(request, state) {
  if (request.policy !== undefined) Object.assign(state, { policy: request.policy, age: request.policy_age ?? 86_400 });
  if (request.accept !== undefined) state.accepted.push(request.accept);
  return Client.open(reader(request.url), state, seconds(request.now));
}

/** Runs one request under the newest head; what the client learned is kept only if all went well. */
async function under(request, state, answer) {
  const client = await accept(request, state);
  const result = await answer(client);
  mkdirSync(request.home, { recursive: true });
  writeFileSync(`${stateFile(request.home)}.new`, JSON.stringify(client.state));
  renameSync(`${stateFile(request.home)}.new`, stateFile(request.home));
  return result;
}

const headOf = ({ head, roots, isOld }) => ({
  origin: head.origin,
  root: roots.at(-1).number,
  size: head.size,
  root_hash: base64(head.root),
  time: timeText(head.snapshot.time),
  old: isOld,
});

const releaseOf = ([version, { entry, revoked, yanked, takedown, advisories }]) => ({
  version,
  position: entry.position,
  sha256: entry.said.file.sha256,
  keyset: entry.said.keyset,
  yanked,
  revoked,
  taken_down: takedown !== null,
  advisories,
});

async function itemOf(client, identity) {
  const history = await client.history(identity);
  return history && { releases: [...history.releases].map(releaseOf), deprecated: history.deprecation !== null };
}

async function namespaceState(client, namespace) {
  const chain = await client.keysets(namespace);
  const said = chain?.last.said;
  return chain && { keyset: said.number, keys: said.key.map((key) => key.line), pending: chain.waiting !== null };
}

async function ownersState(client, namespace) {
  const { places, about } = await client.ownerStatements(namespace);
  return { places, about };
}

const table = async (keys, work) => Object.fromEntries(await Promise.all(keys.map(async (key) => [key, await work(key)])));

async function verify(request) {
  if (request.file) {
    const { name, data } = request.file;
    const keys = request.keys.map((line) => parseKey(line));
    const { key } = await whoSigned(Uint8Array.from(Buffer.from(data, "base64")), name, keys);
    return { key: key.line };
  }
  if (request.proof !== undefined) {
    const root = request.log_keys ? null : parseStatement(parseNote(load(request).roots.at(-1)).text);
    const keys = root ? await logKeys(root) : await Promise.all(request.log_keys.map(parseVerifierKey));
    const item = request.item === undefined ? null : Uint8Array.from(Buffer.from(request.item, "base64"));
    const { origin, position, size, said } = await verifyProof(parseProof(request.proof), keys, item);
    return { origin, position, size, type: said.type };
  }
  return under(request, load(request), async (client) => {
    const { checkpoint, releases = [] } = request.locked;
    if (checkpoint !== undefined) await client.demandContinued(checkpoint);
    const found = [];
    for (const { item, version, sha256 } of releases) {
      const release = (await client.history(item))?.releases.get(version);
      if (release?.entry.said.file.sha256 !== sha256) refuse(release ? "release-changed" : "release-vanished", "A locked release is not there.");
      found.push(releaseOf([version, release]));
    }
    return { releases: found };
  });
}

const COMMANDS = {
  init: async (request) => {
    const state = existsSync(stateFile(request.home)) ? load(request) : pinned(request.fingerprint);
    if (state.fingerprint !== request.fingerprint) refuse("root-fingerprint", "The registry is pinned with another fingerprint.");
    return under(request, state, (client) => {
      if (request.origin !== undefined && client.head.origin !== request.origin) refuse("root-origin", "It is another registry.");
      return headOf(client);
    });
  },
  refresh: (request) => under(request, load(request), headOf),
  resolve: (request) =>
    under(request, load(request), async (client) => ({
      ...(request.names && { names: await table(request.names, (name) => itemOf(client, name)) }),
      ...(request.namespaces && { namespaces: await table(request.namespaces, (name) => namespaceState(client, name)) }),
      ...(request.owners && { owners: await table(request.owners, (name) => ownersState(client, name)) }),
    })),
  fetch: (request) =>
    under(request, load(request), async (client) => {
      const { release, files } = await client.fetch(request.item, request.version);
      return { position: release.entry.position, files: await table([...files.keys()], (path) => sha256hex(files.get(path))) };
    }),
  prove: (request) => under(request, load(request), async (client) => ({ proof: await prove(client, (await client.release(request.item, request.version)).entry) })),
  verify,
};

async function answer(line) {
  try {
    const request = JSON.parse(line);
    return { ok: true, ...(await COMMANDS[request.command](request)) };
  } catch (error) {
    const code = typeof error.code === "string" ? error.code : "";
    if (!code || code.startsWith("ERR_")) console.error(error);
    return { ok: false, error: CLASS_OF.get(code) ?? (code.endsWith("-malformed") ? "malformed" : "unavailable"), detail: `${error.message} [${code}]` };
  }
}

for await (const line of createInterface({ input: process.stdin })) process.stdout.write(`${JSON.stringify(await answer(line))}\n`);
