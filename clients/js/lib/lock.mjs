/**
 * rye.lock: a reader of exactly the TOML that a lock is (docs/schemas/rye-lock.json), and whether a registry confirms what
 * it says. What only the item's bytes tell (tools, limits, runs, facts) and what somebody approved is not judged here.
 */
import { base64, refuse, sha256 } from "./encoding.mjs";
import { isIdentity, KINDS } from "./grammar.mjs";
import { allows, parseRange, parseVersion } from "./versions.mjs";

const fail = (why) => refuse("bad-lock", `The lock is malformed: ${why}.`);
const ESCAPES = { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", '"': '"', "\\": "\\" };

/** Reads values and lines of TOML from a text; what a lock does not need is refused. */
class Reader {
  at = 0;

  take(pattern) {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.text);
    this.at += match?.[0].length ?? 0;
    return match;
  }

  demand = (pattern, what) => this.take(pattern) ?? fail(`${what} is missing before \`${this.text.slice(this.at, this.at + 30)}\``);

  string() {
    const [, raw] = this.demand(/"((?:[^"\\\u0000-\u001f\u007f]|\\[btnfr"\\]|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8})*)"/y, "a text"); // eslint-disable-line no-control-regex
    return raw.replace(/\\(?:u(.{4})|U(.{8})|(.))/g, (_, four, eight, one) => {
      const code = parseInt(four ?? eight, 16);
      return one ? ESCAPES[one] : code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? fail("a character that does not exist") : String.fromCodePoint(code);
    });
  }

  value(depth = 0) {
    if (depth > 4) fail("it is nested too deeply");
    if (this.text[this.at] === '"') return this.string();
    if (this.take(/\[/y)) return this.list(depth);
    if (this.take(/\{ ?/y)) return this.table(depth);
    const [plain] = this.demand(/true|false|0|[1-9][0-9]{0,15}/y, "a value");
    return plain === "true" || (plain === "false" ? false : Number(plain));
  }

  list(depth) {
    for (const values = []; ; this.demand(/,|(?=\s*\])/y, "`,`")) {
      if (this.take(/\s*\]/y)) return values;
      this.take(/\s*/y);
      values.push(this.value(depth + 1));
    }
  }

  table(depth) {
    for (const table = {}; ; this.demand(/, |(?= ?\})/y, "`,`")) {
      if (this.take(/ ?\}/y)) return table;
      this.pair(table, depth);
    }
  }

  pair(table, depth = 0) {
    const key = this.text[this.at] === '"' ? this.string() : this.demand(/[A-Za-z0-9_-]+/y, "a key")[0];
    this.demand(/ = /y, "`=`");
    if (Object.hasOwn(table, key)) fail(`${key} is there twice`);
    Object.defineProperty(table, key, { value: this.value(depth), enumerable: true });
  }
}

const isText = (value) => typeof value === "string";
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
const isHash = (value) => isText(value) && /^[0-9a-f]{64}$/.test(value);
const listOf = (isOne) => (value) => Array.isArray(value) && value.every(isOne);
const tableOf = (shape, needed) => (value) =>
  typeof value === "object" && !Array.isArray(value) && needed.every((key) => Object.hasOwn(value, key)) && Object.keys(value).every((key) => Object.hasOwn(shape, key) && shape[key](value[key]));
const TEXTS = listOf(isText);
const HOOKS = listOf(tableOf({ when: isText, item_type: isText, item_id: isText, inputs: listOf(TEXTS) }, ["when", "item_type", "item_id"]));
const RUNS = listOf(tableOf({ what: isText, where: isText, action: isText, sha256: isHash }, ["what", "where", "action", "sha256"]));
const FILES = listOf(tableOf({ path: isText, size: isCount, sha256: isHash, executable: (value) => typeof value === "boolean" }, ["path", "size", "sha256"]));
const SOURCE = tableOf({ place: isText, git: isText, ref: isText, commit: isText, tree: isText, path: isText, editable: (value) => typeof value === "boolean" }, ["place"]);
const NEEDED = ["kind", "id", "version", "size", "sha256", "suffix"];
const ITEM = {
  kind: isText, id: isText, version: isText, size: isCount, sha256: isHash, suffix: isText, registry: isText, log: isCount, keyset: isCount, signer: isText,
  source: SOURCE, attached: FILES, dependencies: TEXTS, capabilities: TEXTS, hooks: HOOKS, "agent-tools": TEXTS, "agent-limits": TEXTS, runs: RUNS,
  approved: TEXTS, "approved-hooks": HOOKS, "approved-tools": TEXTS, "approved-limits": TEXTS, "approved-runs": RUNS, "approved-facts": TEXTS,
  "facts-rules": isCount, "approved-signer": isText, groups: TEXTS, forced: isText,
};

function isItem(row) {
  const place = ["registry", "log", "keyset", "signer"].filter((key) => Object.hasOwn(row, key)).length;
  const isPlaced = Object.hasOwn(row, "source") ? place === 0 : place === 4;
  return tableOf(ITEM, NEEDED)(row) && isPlaced && isIdentity(`${row.kind}:${row.id}`) && KINDS[row.kind].includes(row.suffix);
}

/** @returns {{wanted: Record<string, string>, heads: Record<string, string>, items: any[]}} heads are signed notes */
export function parseLock(text) {
  const reader = Object.assign(new Reader(), { text });
  const lock = { top: {}, wanted: {}, heads: {}, items: [] };
  let table = lock.top;
  while (reader.at < text.length) {
    const [, header] = reader.take(/\[\[(item)\]\]/y) ?? reader.take(/\[(wanted|heads)\]/y) ?? [];
    if (header === "item") lock.items.push((table = {}));
    else if (header) table = Object.keys(lock[header]).length ? fail(`[${header}] is there twice`) : lock[header];
    else if (!reader.take(/#[^\n\r]*/y) && text[reader.at] !== "\n") reader.pair(table);
    reader.demand(/\n/y, "the end of a line");
  }
  const isWhole = tableOf({ version: (value) => value === 1 }, ["version"])(lock.top) && Object.values(lock.wanted).every(isText) && Object.values(lock.heads).every(TEXTS);
  if (!isWhole || !lock.items.every(isItem) || new Set(lock.items.map((row) => `${row.kind}:${row.id}`)).size < lock.items.length) fail("it has something that a lock does not have, or an item twice");
  const heads = Object.fromEntries(Object.entries(lock.heads).map(([origin, lines]) => [origin, lines.map((line) => `${line}\n`).join("")]));
  return { wanted: lock.wanted, heads, items: lock.items };
}

export const fingerprint = async (key) => `SHA256:${base64(await sha256(key.raw)).replace(/=+$/, "")}`;
const sorted = (values) => JSON.stringify([...new Set(values)].sort());

/** Demands that the registry's release is the row, and that its files are there. @param {import("./client.mjs").Client} client */
export async function verifyRow(client, row, lock) {
  const identity = `${row.kind}:${row.id}`;
  const history = await client.history(identity);
  const release = history?.releases.get(row.version) ?? refuse("release-vanished", `The registry has no ${identity} ${row.version}.`);
  const { said, position } = release.entry;
  const mismatch = (what) => refuse("lock-mismatch", `${identity}: the lock has another ${what} than the release.`);
  if (said.file.sha256 !== row.sha256 || said.file.size !== row.size) refuse("release-changed", `${identity}: the lock has other bytes than the release.`);
  if (position !== row.log || said.keyset !== row.keyset || said.file.suffix !== row.suffix) mismatch("position, keyset or suffix");
  const attached = (row.attached ?? []).map(({ path, size, sha256, executable = false }) => ({ path, size, sha256, executable }));
  if (JSON.stringify(attached) !== JSON.stringify(said.attached)) mismatch("attached file");
  if (sorted(row.dependencies ?? []) !== sorted(said.depends_on.map((one) => one.target))) mismatch("dependency");
  if (sorted(row.capabilities ?? []) !== sorted(said.capability)) mismatch("right");
  if (sorted((row.hooks ?? []).map((one) => `${one.item_type} ${one.item_id}`)) !== sorted(said.hook.map((one) => one.join(" ")))) mismatch("hook");
  for (const { target, range } of said.depends_on) {
    const other = lock.items.find((one) => `${one.kind}:${one.id}` === target);
    if (!other || (!other.forced && !other.source && !allows(parseRange(range), parseVersion(other.version)))) refuse("lock-does-not-fit", `${identity} needs ${target} ${range}, which is not locked.`);
  }
  await client.fetch(identity, row.version);
  if (!(await Promise.all(release.signers.map(fingerprint))).includes(row.signer)) mismatch("signer");
  return release;
}
