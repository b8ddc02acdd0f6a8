/**
 * Bytes, texts and numbers as every file of the protocol writes them. What has a second spelling is refused
 * (docs/reference/protocol.md, "Common rules").
 */

/** Why something is not believed. `code` is Rye's (docs/reference/errors), `message` is for people. */
export class Refusal extends Error {}

/** @returns {never} */
export function refuse(code, message) {
  throw Object.assign(new Refusal(message), { code });
}

export const utf8 = (text) => new TextEncoder().encode(text);

/** What `work` returns, or null if it throws: for parsers of the platform, whose result is then refused. */
export function attempt(work) {
  try {
    return work();
  } catch {
    return null;
  }
}

/** What `work` made under a name, which it makes once. @param {Map<string, any>} results */
export const once = (results, name, work) => results.get(name) ?? results.set(name, work()).get(name);

/** Strict UTF-8; a byte order mark stays, for the grammar to refuse. */
export const decodeText = (bytes, code) => attempt(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)) ?? refuse(code, "It is not UTF-8.");

export function concat(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}

export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
export const sameBytes = (a, b) => a.length === b.length && a.every((byte, at) => byte === b[at]);

/** Order of the UTF-8 bytes, which is that of code points, not of JavaScript's strings. */
export const compareBytes = (a, b) => (hex(utf8(a)) < hex(utf8(b)) ? -1 : Number(a !== b));

export const base64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));

/** RFC 4648 section 4, padded and canonical. */
export function fromBase64(text, code = "note-base64") {
  const bytes = attempt(() => Uint8Array.from(atob(text), (char) => char.charCodeAt(0)));
  return bytes !== null && base64(bytes) === text ? bytes : refuse(code, "It is not canonical base64.");
}

export const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
export const sha256hex = async (bytes) => hex(await sha256(bytes));
export const hashOfText = async (text) => sha256hex(utf8(text));

/** An ASCII decimal from `least` to 2^53−1 without leading zeros. */
export function number(text, least = 0, code = "statement-malformed") {
  const value = /^(0|[1-9][0-9]{0,15})$/.test(text) ? Number(text) : NaN;
  const isGood = Number.isSafeInteger(value) && value >= least;
  return isGood ? value : refuse(code, `\`${text}\` is not a number from ${least} on.`);
}

/** `YYYY-MM-DDTHH:MM:SSZ` of a real date, as seconds since 1970. */
export function seconds(text, code = "statement-malformed") {
  const when = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text) ? Date.parse(text) / 1000 : NaN;
  return when >= 0 && timeText(when) === text ? when : refuse(code, `\`${text}\` is not a time.`);
}

export const timeText = (when) => `${new Date(when * 1000).toISOString().slice(0, 19)}Z`;

/** A JSON object with exactly these members in this order, without spaces: the one encoding that Rye writes. */
export function canonicalJson(text, code) {
  const value = attempt(() => JSON.parse(text));
  const isExact = value !== null && typeof value === "object" && JSON.stringify(value) === text;
  return isExact ? value : refuse(code, "It is not JSON as the protocol writes it.");
}
