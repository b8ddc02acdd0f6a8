#!/usr/bin/env node
/**
 * Checks a Rye registry without Rye: docs/how-to/checking-without-rye.md. Writes nothing but the file that `--state` names.
 */
import { createReadStream, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { audit } from "./lib/audit.mjs";
import { Client, pinned } from "./lib/client.mjs";
import { decodeText, refuse, sha256hex, timeText } from "./lib/encoding.mjs";
import { fingerprint, parseLock, verifyRow } from "./lib/lock.mjs";
import { parseVerifierKey, verifierKey } from "./lib/notes.mjs";
import { logKeys } from "./lib/owners.mjs";
import { parseProof, verifyProof } from "./lib/proofs.mjs";
import { reader } from "./lib/transport.mjs";

const USAGE = `Usage: node rye.mjs verify-registry URL FINGERPRINT
                   verify-release URL FINGERPRINT KIND:ID@VERSION
                   verify-file URL FINGERPRINT KIND:ID@VERSION FILE
                   verify-proof PROOF --key NAME+ID+KEY [--item FILE]
                   verify-lock rye.lock --pin 'ORIGIN FINGERPRINT URL' [--pin …]
With a registry: --state FILE remembers what was seen, so that it cannot be taken back; --policy FILE demands witnesses;
--max-witness-age HOURS (24); --accept HASH accepts a recovery.`;

const OPTIONS = Object.fromEntries(["key", "pin", "accept"].map((name) => [name, { type: "string", multiple: true, default: [] }]));
for (const name of ["item", "state", "policy", "max-witness-age"]) OPTIONS[name] = { type: "string" };

const text = (path) => decodeText(readFileSync(path), "not-text");
const open = (url) => (existsSync(url) ? createReadStream(url) : null);

/** Opens a registry with what `--state` remembers of it; the state is written when all is well. */
async function withRegistry(url, print, options, work) {
  const states = options.state && existsSync(options.state) ? JSON.parse(text(options.state)) : {};
  const state = states[print] ?? pinned(print);
  state.accepted.push(...options.accept);
  if (options.policy) Object.assign(state, { policy: text(options.policy), age: Number(options["max-witness-age"] ?? 24) * 3600 });
  const client = await Client.open(reader(url, open), state, Math.floor(Date.now() / 1000));
  const result = await work(client);
  if (options.state) {
    writeFileSync(`${options.state}.new`, JSON.stringify({ ...states, [print]: client.state }));
    renameSync(`${options.state}.new`, options.state);
  }
  if (client.isOld) console.error("warning: the registry's newest head is older than 72 hours.");
  return result;
}

/** The identity and the version. */
const target = (words) => (/^[^@]+@[^@]+$/.test(words) ? words.split("@") : refuse("bad-argument", `\`${words}\` is not KIND:ID@VERSION.`));

const COMMANDS = {
  "verify-registry": [2, (url, print, options) => withRegistry(url, print, options, async (client) => {
    const { entries, names, releases } = await audit(client);
    return `${client.head.origin}: ${entries} entries, ${names} names and ${releases} releases, as of ${timeText(client.head.snapshot.time)}\nkey of its log: ${(await logKeys(client.roots.at(-1))).map(verifierKey).join(" ")}`;
  })],
  "verify-release": [3, (url, print, words, options) => withRegistry(url, print, options, async (client) => {
    const { release, files, key, declared } = await client.fetch(...target(words));
    const unread = declared.relations === null && "relations not compared with its text";
    const notes = [release.yanked && "yanked", ...release.advisories.map((one) => `advisory ${one}`), unread].filter(Boolean);
    return `${words} is entry ${release.entry.position} of ${client.head.origin}, signed by ${await fingerprint(key)}, ${files.size} files${notes.map((one) => `, ${one}`).join("")}`;
  })],
  "verify-file": [4, (url, print, words, path, options) => withRegistry(url, print, options, async (client) => {
    const { release } = await client.fetch(...target(words));
    const hash = await sha256hex(readFileSync(path));
    const file = [{ path: "the item's own file", ...release.entry.said.file }, ...release.entry.said.attached].find((one) => one.sha256 === hash);
    return file ? `${path} is ${file.path} of ${words}` : refuse("other-bytes", `${path} is no file of ${words}.`);
  })],
  "verify-proof": [1, async (path, options) => {
    const keys = await Promise.all(options.key.map(parseVerifierKey));
    const { origin, position, size, said } = await verifyProof(parseProof(text(path)), keys, options.item ? readFileSync(options.item) : null);
    return `${said.type} ${said.id ?? said.namespace ?? ""} ${said.version ?? ""} is entry ${position} of ${size} of the log of ${origin}`.replaceAll(/ +/g, " ");
  }],
  "verify-lock": [1, async (path, options) => {
    const lock = parseLock(text(path));
    const pins = new Map(options.pin.map((line) => line.split(/\s+/)).map(([origin, print, url]) => [origin, [url, print]]));
    const rows = lock.items.filter((row) => row.registry !== undefined);
    for (const origin of new Set([...rows.map((row) => row.registry), ...Object.keys(lock.heads)])) {
      const pin = pins.get(origin) ?? refuse("registry-unpinned", `Pin ${origin}: --pin 'ORIGIN FINGERPRINT URL'.`);
      await withRegistry(...pin, options, async (client) => {
        if (client.head.origin !== origin) refuse("root-origin", `${pin[0]} is ${client.head.origin}, not ${origin}.`);
        if (lock.heads[origin] !== undefined) await client.demandContinued(lock.heads[origin]);
        for (const row of rows.filter((one) => one.registry === origin)) await verifyRow(client, row, lock);
      });
    }
    const others = lock.items.length - rows.length;
    return `${rows.length} rows are as released${others ? `; ${others} rows of sources were not checked: nothing signed says what they are` : ""}`;
  }],
};

try {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  const [count, run] = COMMANDS[positionals[0]] ?? [NaN];
  if (positionals.length !== count + 1) {
    console.error(USAGE);
    process.exitCode = 2;
  } else console.log(`ok: ${await run(...positionals.slice(1), values)}`);
} catch (error) {
  if (typeof error.code !== "string") throw error;
  console.error(`error: ${error.message} [${error.code}]`);
  process.exitCode = error.code.startsWith("ERR_PARSE_ARGS") ? 2 : 1;
}
