/** Everything that is signed into a log (docs/reference/statements.md): one table of lines for each type. */
import { parseKey } from "./ed25519.mjs";
import { compareBytes, number, refuse, seconds, utf8 } from "./encoding.mjs";
import * as is from "./grammar.mjs";

const MAX_LINE = 2048;
const RECOVERY_DELAY = 72 * 3600;
const counting = (text) => number(text, 1);
const position = (text) => number(text, 0);

/** Fields with a space between them; the last one takes what is left. */
const fields = (...parsers) => (text) => {
  const parts = text.split(" ");
  if (parts.length < parsers.length) refuse("statement-malformed", `\`${text}\` does not have ${parsers.length} fields.`);
  return parsers.map((parser, at) => parser(at + 1 < parsers.length ? parts[at] : parts.slice(at).join(" ")));
};
/** Fields under their names. */
const record = (shape) => (text) => Object.fromEntries(fields(...Object.values(shape))(text).map((value, at) => [Object.keys(shape)[at], value]));
const file = record({ suffix: is.word, size: counting, sha256: is.hash });
const attached = record({ path: is.attachedPath, size: position, sha256: is.hash, executable: (text) => is.oneOf("x", "-")(text) === "x" });
const relation = record({ reference: is.word, target: is.orDash(is.identity), range: is.range });
const revocation = (text) => {
  const [, key, at] = /^(.*) (\S+)$/.exec(text) ?? refuse("statement-malformed", `\`${text}\` revokes nothing.`);
  return { key: parseKey(key), position: position(at) };
};

const ORIGIN = ["origin", is.origin];
const TIME = ["time", seconds];
const REASON = ["reason", is.line(500)];
const KEYSET = ["keyset", counting];
const ID = ["id", is.identity];
const ANY = [0, Infinity];

/** For each type its lines: key, parser, and how often it is there (once if not said). */
const TYPES = {
  "rye.root/v1": [ORIGIN, ["number", counting], ["previous", is.orDash(is.hash)], TIME, ["expires", seconds], ["threshold", counting], ["owner", parseKey, [1, 16]], ["log", parseKey, [1, 4]]],
  "rye.keyset/v1": [ORIGIN, ["namespace", is.namespace], ["number", counting], ["previous", is.orDash(is.hash)], TIME, ["threshold", counting], ["release-threshold", counting, [0, 1]], ["require", is.oneOf("hardware", "hardware-verified"), [0, 1]], ["key", parseKey, [1, 16]], ["revoke", revocation, ANY], ["recovery", seconds, [0, 1]]],
  "rye.release/v1": [ORIGIN, ID, ["version", is.version], KEYSET, TIME, ["description", is.line(300)], ["file", file], ["attached", attached, ANY], ["depends_on", relation, ANY], ["requires", relation, ANY], ["conflicts_with", relation, ANY], ["capability", is.matching(/^rye\.[!-~]{1,1000}$/, "a capability pattern"), ANY], ["hook", fields(is.oneOf("directive", "tool", "knowledge"), is.word), ANY]],
  "rye.yank/v1": [ORIGIN, ID, ["version", is.version], ["state", is.oneOf("yanked", "available")], KEYSET, TIME, REASON],
  "rye.deprecation/v1": [ORIGIN, ID, ["state", is.oneOf("deprecated", "supported")], ["replacement", is.orDash(is.identity)], KEYSET, TIME, REASON],
  "rye.advisory/v1": [ORIGIN, ID, ["number", is.matching(/^[A-Z0-9-]{1,64}$/, "the number of an advisory")], ["range", is.range], ["severity", is.oneOf("low", "medium", "high", "critical")], ["keyset", (text) => (text === "root" ? text : number(text, 1))], TIME, ["title", is.line(300)]],
  "rye.takedown/v1": [ORIGIN, ID, ["version", is.version], ["sha256", is.hash, [1, 201]], TIME, REASON],
  "rye.proof/v1": [ORIGIN, ["namespace", is.namespace], ["state", is.oneOf("proved", "withdrawn")], ["method", is.oneOf("file", "dns", "repository")], ["place", is.word], KEYSET, ["fingerprint", is.hash], TIME],
  "rye.description/v1": [ORIGIN, ["namespace", is.namespace], ["about", is.line(300)], ["link", is.link, [0, 5]], ["contact", is.contact, [0, 1]], KEYSET, TIME],
  "rye.policy/v1": [ORIGIN, ["number", counting], ["previous", is.orDash(is.hash)], TIME, ["expires", seconds], ["contact", is.contact, [0, 1]], ["rule", is.policyRule, [0, 500]]],
  "rye.clock/v1": [ORIGIN, ["position", (text) => number(text, 2)], ["before", seconds], TIME, REASON],
  "rye.snapshot/v1": [ORIGIN, TIME, ["root", counting], ["map", is.hash, [0, 1]], ["shards", is.matching(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/, "a hash"), [0, 1]]],
};

/**
 * @typedef {Record<string, any> & {type: string, text: string}} Statement
 * A line that is there once is a value, one that may be absent null, one that may be repeated a list.
 */

/** @returns {Statement} */
export function parseStatement(text) {
  const rows = text.split("\n");
  const [type] = rows;
  if (!Object.hasOwn(TYPES, type)) refuse("statement-kind", "It is not a statement of a type that this client knows.");
  if (rows.pop() !== "" || rows.some((row) => utf8(row).length > MAX_LINE)) refuse("statement-malformed", "A line is too long, or has no end.");
  const statement = { type, text };
  let at = 1;
  for (const [key, parse, [least, most] = [1, 1]] of TYPES[type]) {
    const lines = [];
    while (rows[at]?.startsWith(`${key} `) && lines.length < most) lines.push(rows[at++].slice(key.length + 1));
    if (lines.length < least) refuse("statement-malformed", `A line \`${key}\` is missing.`);
    if (lines.some((one, i) => i > 0 && compareBytes(lines[i - 1], one) >= 0)) refuse("statement-malformed", `The lines \`${key}\` are not sorted, or one is twice there.`);
    const values = lines.map((one) => parse(one));
    statement[key] = most > 1 ? values : (values[0] ?? null);
  }
  if (at !== rows.length) refuse("statement-malformed", `The line \`${rows[at]}\` does not belong there.`);
  for (const [why, holds] of Object.entries(RULES[type] ?? {})) if (!holds(statement)) refuse("statement-malformed", `${why}.`);
  return statement;
}

export const sameKey = (a, b) => a.raw.every((byte, at) => byte === b.raw[at]);
const hasKey = (keys, key) => keys.some((other) => sameKey(key, other));
const areDistinct = (keys) => keys.every((one, at) => !hasKey(keys.slice(0, at), one));
const fits = (one, other) =>
  one.path === other.path ? one.isMember && other.isMember : one.path !== other.path.split(".", 1)[0];
const suffixesOf = ({ id }) => is.KINDS[id.split(":", 1)[0]];
const pathsOf = ({ attached }) => ["skill.md", ...attached.map((one) => one.path.toLowerCase())];
const NUMBERED = {
  "Only number 1 has nothing before it": ({ number, previous }) => (number === 1) === (previous === null),
  "It expires before it begins": ({ time, expires = Infinity }) => expires > time,
};

/** What the lines of a statement must say together: what is wrong otherwise, and when it is not. */
const RULES = {
  "rye.root/v1": {
    ...NUMBERED,
    "Owners and logs have ordinary keys": ({ owner, log }) => [...owner, ...log].every((key) => key.blob === null),
    "Its threshold is more than its owners": ({ threshold, owner }) => threshold <= owner.length,
  },
  "rye.keyset/v1": {
    ...NUMBERED,
    "Its threshold is more than its keys": ({ threshold, key }) => threshold <= key.length,
    "Its threshold for releases is more than its keys, or 1": ({ "release-threshold": k, key }) => k === null || (k >= 2 && k <= key.length),
    "A key is there twice": ({ key, revoke }) => areDistinct(key) && areDistinct(revoke.map((one) => one.key)),
    "One of its keys is revoked": ({ key, revoke }) => !revoke.some((one) => hasKey(key, one.key)),
    "A recovery comes too early": ({ recovery, number, time }) => recovery === null || (number > 1 && recovery >= time + RECOVERY_DELAY),
    "It has fewer security keys than must sign": ({ require, key, threshold, "release-threshold": k }) =>
      require === null || key.filter((one) => one.blob).length >= Math.max(threshold, k ?? 1),
  },
  "rye.release/v1": {
    "Its file has the ending of another kind": (release) => suffixesOf(release).includes(release.file.suffix),
    "Only a skill has attached files": ({ id, attached }) => attached.length === 0 || id.startsWith("skill:"),
    "Two of its files have the same path": (release) => new Set(pathsOf(release)).size === pathsOf(release).length,
    "An attached file is below another": (release) => !pathsOf(release).some((path, _, all) => all.some((one) => path.startsWith(`${one}/`))),
    "Only `requires` may be about what is no item": (release) => [...release.depends_on, ...release.conflicts_with].every((one) => one.target),
  },
  "rye.proof/v1": { "It is about no such place": ({ method, place }) => is.place(method, place) },
  "rye.policy/v1": { ...NUMBERED, "Its rules are not those of one table": ({ rule }) => rule.every((one) => rule.every((other) => one === other || fits(one, other))) },
  "rye.clock/v1": { "It does not go back": ({ time, before }) => time < before },
  "rye.snapshot/v1": { "It names either a map or shards": ({ map, shards }) => (map !== null) !== (shards !== null) },
};

/** Three lines: origin, size, root hash; a fourth may name the end of the registry's audit events. */
export function parseCheckpoint(text, code = "head-malformed") {
  const [, origin, size, root, audited = "0"] = /^([^\n]*)\n([^\n]*)\n([^\n]*)\n(?:rye-audit ([0-9]+) [0-9a-f]{64}\n)?$/.exec(text) ?? refuse(code, "It is not a checkpoint.");
  number(audited, 0, code);
  if (!is.isOrigin(origin) || !/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/.test(root)) refuse(code, "It is not a checkpoint.");
  return { origin, size: number(size, 0, code), root: Uint8Array.from(atob(root), (char) => char.charCodeAt(0)) };
}
