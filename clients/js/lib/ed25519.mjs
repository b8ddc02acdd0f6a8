/**
 * Exactly which Ed25519 keys and signatures count: no key and no R of small order or without canonical encoding, no S
 * from the group order on; what is left is WebCrypto's to verify, without the cofactor.
 */
import { concat, decodeText, fromBase64, refuse, sameBytes, sha256, utf8 } from "./encoding.mjs";

const P = 2n ** 255n - 19n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;
/** y of the points of order 8, and of all points of small order. */
const EIGHTH = 2707385501144840649318225287225658788936804267575313519463743609750303402022n;
const SMALL = new Set([0n, 1n, P - 1n, EIGHTH, P - EIGHTH]);

const littleEndian = (bytes) => bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
const yOf = (bytes) => littleEndian(bytes) & ((1n << 255n) - 1n);
const isPlain = (y) => y < P && !SMALL.has(y);

function power(base, exponent) {
  let result = 1n;
  for (let square = base % P; exponent > 0n; exponent >>= 1n, square = (square * square) % P) if (exponent & 1n) result = (result * square) % P;
  return result;
}

/** Whether 32 bytes are a public key: a canonical point on the curve that is not of small order. */
export function isPublicKey(bytes) {
  const y = yOf(bytes);
  const square = (y * y) % P;
  // x² = (y²−1)/(dy²+1) is a square if and only if (y²−1)(dy²+1) is one.
  return bytes.length === 32 && isPlain(y) && power(((square - 1n + P) * (D * square + 1n)) % P, (P - 1n) / 2n) === 1n;
}

/** @param {Uint8Array} key 32 bytes @param {Uint8Array} signature 64 bytes */
export async function verifies(key, message, signature) {
  if (signature.length !== 64 || !isPublicKey(key)) return false;
  if (!isPlain(yOf(signature.subarray(0, 32))) || littleEndian(signature.subarray(32)) >= ORDER) return false;
  const imported = await crypto.subtle.importKey("raw", key, { name: "Ed25519" }, false, ["verify"]);
  return crypto.subtle.verify({ name: "Ed25519" }, imported, signature, message);
}

/**
 * A key as statements write it.
 * @typedef {{line: string, raw: Uint8Array, blob: Uint8Array | null, application: string}} Key
 * `line`: as written; `raw`: the 32 bytes; `blob`: OpenSSH's, of a security key.
 */

export const SECURITY = "sk-ssh-ed25519@openssh.com";

/** A string in a blob: its length before it, as 4 bytes. */
const sized = (bytes) => concat(Uint8Array.of(0, 0, bytes.length >> 8, bytes.length & 255), bytes);

/** @returns {Key} `line` is base64 of 32 bytes, or OpenSSH's line of a security key without a comment. */
export function parseKey(line, code = "statement-key") {
  const isSecurity = line.startsWith(`${SECURITY} `);
  const bytes = fromBase64(isSecurity ? line.slice(SECURITY.length + 1) : line, code);
  const [raw, rest] = isSecurity ? [bytes.slice(34, 66), bytes.slice(70)] : [bytes, new Uint8Array()];
  const application = decodeText(rest, code);
  const blob = isSecurity ? concat(...[utf8(SECURITY), raw, rest].map(sized)) : null;
  const isKnown = !isSecurity || (/^[!-~]{1,256}$/.test(application) && sameBytes(blob, bytes));
  if (!isKnown || !isPublicKey(raw)) refuse(code, `\`${line}\` is not a key of a type that Rye knows.`);
  return { line, raw, blob, application };
}

/**
 * Whether `key` signed `message`, and how: false, "plain", or for a security key "present" (flags 1) or "verified" (5).
 * @param {Key} key
 */
export async function signedBy(key, message, signature) {
  if (key.blob === null) return (await verifies(key.raw, message, signature)) && "plain";
  const how = { 1: "present", 5: "verified" }[signature[64]];
  if (signature.length !== 69 || how === undefined) return false;
  const signed = concat(await sha256(utf8(key.application)), signature.subarray(64), await sha256(message));
  return (await verifies(key.raw, signed, signature.subarray(0, 64))) && how;
}
