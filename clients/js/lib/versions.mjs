/** Versions (SemVer 2) and npm's ranges of them, as far as statements and advisories need them. */
import { refuse } from "./encoding.mjs";

const IDENTIFIER = "(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)";
const PRE = `${IDENTIFIER}(?:\\.${IDENTIFIER})*`;
const BUILD = "(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?";
const PART = "(0|[1-9][0-9]*|[xX*])";
const VERSION = new RegExp(`^(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)(?:-(${PRE}))?$`);
const PARTIAL = new RegExp(`^[v=]?\\s*v?${PART}(?:\\.${PART}(?:\\.${PART}(?:-(${PRE}))?${BUILD})?)?$`);
const TOKEN = /^(?:(\^|~>?)\s*=?|(>=|<=|>|<|=|))\s*([^\s<>=~^]+)(?:\s+|$)/;
const MOST = 2n ** 63n;

/** @typedef {{numbers: bigint[], pre: string[], isBound?: boolean}} Version `isBound`: nobody wrote it, it ends a range */

/** A version without build metadata, as statements have it. @returns {Version} */
export function parseVersion(text, code = "statement-malformed") {
  const match = text.length <= 256 ? VERSION.exec(text) : null;
  const numbers = match?.slice(1, 4).map(BigInt);
  if (!match || numbers.some((value) => value >= MOST)) refuse(code, `\`${text}\` is not a version.`);
  return { numbers, pre: match[4]?.split(".") ?? [] };
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

/** The smallest version after all that agree with `numbers` in the first `places`. */
function after(numbers, places) {
  const next = numbers.map((value, at) => (at < places - 1 ? value : at === places - 1 ? value + 1n : 0n));
  if (next.some((value) => value >= MOST)) refuse("statement-malformed", "A number of the range is too large.");
  return { numbers: next, pre: ["0"], isBound: true };
}

function comparators(operator, text) {
  const match = PARTIAL.exec(text);
  if (!match) refuse("statement-malformed", `\`${text}\` is no part of a range.`);
  let places = match.slice(1, 4).findIndex((part) => part === undefined || /[xX*]/.test(part));
  if (places < 0) places = 3;
  const isCaret = /^[~^]/.test(operator);
  if (!isCaret && match.slice(places + 1, 4).some((part) => part && /\d/.test(part))) refuse("statement-malformed", `\`${text}\` has a number after a wildcard.`);
  const numbers = match.slice(1, 4).map((part, at) => (at < places ? BigInt(part) : 0n));
  if (numbers.some((value) => value >= MOST)) refuse("statement-malformed", `A number of \`${text}\` is too large.`);
  const low = { numbers, pre: places === 3 ? (match[4]?.split(".") ?? []) : [] };
  if (places === 0) return ["<", ">"].includes(operator) ? [["<", { numbers, pre: ["0"], isBound: true }]] : [[">=", low]];
  if (operator === "^") {
    const leading = numbers.findIndex((value, at) => value > 0n || at === places - 1);
    return [[">=", low], ["<", after(numbers, leading + 1)]];
  }
  if (isCaret) return [[">=", low], ["<", after(numbers, Math.min(places, 2))]];
  if (operator === ">=" || (operator === "<" && places === 3)) return [[operator, low]];
  if (operator === "<") return [["<", { numbers, pre: ["0"], isBound: true }]];
  if (operator === ">") return places === 3 ? [[">", low]] : [[">=", { ...after(numbers, places), pre: [] }]];
  if (operator === "<=") return places === 3 ? [["<=", low]] : [["<", after(numbers, places)]];
  return places === 3 ? [["=", low]] : [[">=", low], ["<", after(numbers, places)]];
}

function alternative(text) {
  const hyphen = /^(\S+)\s+-\s+(\S+)$/.exec(text);
  if (hyphen) return [...comparators(">=", hyphen[1]), ...comparators("<=", hyphen[2])];
  if (text === "") return comparators("", "*");
  const found = [];
  for (let rest = text; rest; ) {
    const token = TOKEN.exec(rest) ?? refuse("statement-malformed", `\`${text}\` is not a range.`);
    found.push(...comparators(token[1] ?? token[2], token[3]));
    rest = rest.slice(token[0].length);
  }
  return found;
}

/** @returns {[string, Version][][]} what one of must hold, each with what all must hold */
export function parseRange(text) {
  return text.split("||").map((part) => {
    const pieces = part.trim().split(",");
    if (pieces.length > 1 && pieces.some((piece) => !piece.trim())) refuse("statement-malformed", `\`${text}\` is not a range.`);
    return alternative(pieces.join(" ").trim());
  });
}

const HOLDS = { ">=": (o) => o >= 0, "<=": (o) => o <= 0, ">": (o) => o > 0, "<": (o) => o < 0, "=": (o) => o === 0 };
const sameNumbers = (a, b) => a.numbers.every((value, at) => value === b.numbers[at]);

/** Plain order: what an advisory covers. Pre-releases count like every other version. */
export const covers = (range, version) => range.some((all) => all.every(([operator, limit]) => HOLDS[operator](compareVersions(version, limit))));

/** What a dependency may choose: a pre-release only where the range names one of the same version. */
export const allows = (range, version) =>
  range.some((all) => covers([all], version) && (!version.pre.length || all.some(([, limit]) => limit.pre.length && !limit.isBound && sameNumbers(limit, version))));
