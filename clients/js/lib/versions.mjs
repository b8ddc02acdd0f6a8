/**
 * Versions (SemVer 2) and npm's ranges of them (docs/reference/projects.md, "rye.toml"; docs/reference/statements.md,
 * "rye.advisory/v1").
 */
import { refuse } from "./encoding.mjs";

const IDENTIFIER = "(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)";
const PRE = `${IDENTIFIER}(?:\\.${IDENTIFIER})*`;
const BUILD = "(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?";
const PART = "(0|[1-9][0-9]*|[xX*])";
const VERSION = new RegExp(`^(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)(?:-(${PRE}))?$`);
const PARTIAL = new RegExp(`^([v=]*)${PART}(?:\\.${PART}(?:\\.${PART}(?:-(${PRE}))?${BUILD})?)?$`);
const TOKEN = /(\^|~>?|>=|<=|>|<|=|)\s*([v=]*[^\s<>=~^]+)(?:\s+|$)/gy;
const MOST = 2n ** 63n;

/** @typedef {{numbers: bigint[], pre: string[], isBound?: boolean}} Version `isBound`: nobody wrote it, it ends a range */

const fail = (text, what) => refuse("statement-malformed", `\`${text}\` is not ${what}.`);
const whole = (numbers, text) => (numbers.every((value) => value < MOST) ? numbers : fail(text, "of numbers below 2^63"));

/** A version without build metadata, as statements have it. @returns {Version} */
export function parseVersion(text) {
  const match = (text.length <= 256 && VERSION.exec(text)) || fail(text, "a version");
  return { numbers: whole(match.slice(1, 4).map(BigInt), text), pre: match[4]?.split(".") ?? [] };
}

function compareIdentifiers(a, b) {
  const [left, right] = [a, b].map((text) => (/^\d+$/.test(text) ? BigInt(text) : text));
  const isLess = typeof left === typeof right ? left < right : typeof left === "bigint";
  return a === b ? 0 : isLess ? -1 : 1;
}

/** @param {Version} a @param {Version} b */
export function compareVersions(a, b) {
  for (let at = 0; at < 3; at++) if (a.numbers[at] !== b.numbers[at]) return a.numbers[at] < b.numbers[at] ? -1 : 1;
  if (!a.pre.length || !b.pre.length) return Number(b.pre.length > 0) - Number(a.pre.length > 0);
  const orders = a.pre.slice(0, b.pre.length).map((one, at) => compareIdentifiers(one, b.pre[at]));
  return orders.find((order) => order !== 0) ?? a.pre.length - b.pre.length;
}

/** What ends a range before `numbers` and every pre-release of them. */
const before = (numbers) => ["<", { numbers, pre: ["0"], isBound: true }];

/** What one comparator demands, by its operator: of a version that is written down to `places` of its numbers. */
function comparators(operator, text, isLoose = /^[~^]/.test(operator)) {
  const [, prefix, major, minor, patch, pre] = PARTIAL.exec(text) ?? fail(text, "part of a range");
  const parts = [major, minor, patch];
  const places = [...parts, undefined].findIndex((part) => part === undefined || /[xX*]/.test(part));
  const isTwice = places === 3 && !/^[~^]/.test(operator) && !["", "v"].includes(prefix);
  if (isTwice || (!isLoose && parts.slice(places).some((part) => /\d/.test(part ?? "")))) fail(text, "a version");
  const numbers = whole(parts.map((part, at) => (at < places ? BigInt(part) : 0n)), text);
  const low = { numbers, pre: places === 3 ? (pre?.split(".") ?? []) : [] };
  /** The numbers after all that agree in the first `count`. */
  const after = (count) => whole(numbers.map((value, at) => (at < count ? value + BigInt(at === count - 1) : 0n)), text);
  if (places === 0) return ["<", ">"].includes(operator) ? [before(numbers)] : [[">=", low]];
  const leading = numbers.findIndex((value, at) => value > 0n || at === places - 1) + 1;
  if (/^[~^]/.test(operator)) return [[">=", low], before(after(operator === "^" ? leading : Math.min(places, 2)))];
  if (places === 3 || operator === ">=") return [[operator || "=", low]];
  if (operator === "<") return [before(numbers)];
  const next = after(places);
  return { "<=": [before(next)], ">": [[">=", { numbers: next, pre: [] }]] }[operator] ?? [[">=", low], before(next)];
}

function alternative(text) {
  const hyphen = /^(\S+)\s+-\s+(\S+)$/.exec(text);
  if (hyphen) return [...comparators(">=", hyphen[1], true), ...comparators("<=", hyphen[2], true)];
  const tokens = [...text.matchAll(TOKEN)];
  if (tokens.map(([token]) => token).join("") !== text) fail(text, "a range");
  return tokens.flatMap(([, operator, version]) => comparators(operator, version));
}

/** @returns {[string, Version][][]} what one of must hold, each with what all must hold */
export function parseRange(text) {
  return text.split("||").map((part) => {
    const pieces = part.trim().split(",");
    if (pieces.length > 1 && pieces.some((piece) => !piece.trim())) fail(text, "a range");
    return pieces.flatMap((piece) => alternative(piece.trim() || "*"));
  });
}

const HOLDS = { ">=": (o) => o >= 0, "<=": (o) => o <= 0, ">": (o) => o > 0, "<": (o) => o < 0, "=": (o) => o === 0 };

/** Whether it is `*`, however it is written: what begins with 0.0.0 and does not end. */
const isAny = (all) => all.every(([operator, { numbers, pre }]) => operator === ">=" && numbers.every((one) => one === 0n) && !pre.length);

/** Plain order: what an advisory covers. Pre-releases count like every other version. */
export const covers = (range, version) => range.some((all) => isAny(all) || all.every(([operator, limit]) => HOLDS[operator](compareVersions(version, limit))));

/** What a dependency may choose: a pre-release only where the range names one of the same version; none where it has a `*`. */
export const allows = (range, version) => range.some(isAny) ? !version.pre.length : range.some((all) => covers([all], version) && (!version.pre.length || all.some(([, { numbers, pre, isBound }]) => pre.length && !isBound && numbers.every((one, at) => one === version.numbers[at]))));
