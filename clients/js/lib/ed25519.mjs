/**
 * Exactly which Ed25519 keys and signatures count: no key and no R of small order or without canonical encoding, no S
 * from the group order on; what is left is WebCrypto's to verify, without the cofactor.
 */
import { concat, fromBase64, refuse, sameBytes, sha256, utf8 } from "./encoding.mjs";

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

const SECURITY = "sk-ssh-ed25519@openssh.com";

/** @returns {Key} `line` is base64 of 32 bytes, or OpenSSH's line of a security key without a comment. */
export function parseKey(line, code = "statement-key") {
  const isSecurity = line.startsWith(`${SECURITY} `);
  const blob = fromBase64(isSecurity ? line.slice(SECURITY.length + 1) : line, code);
  const key = isSecurity ? { line, blob, ...partsOf(blob, code) } : { line, raw: blob, blob: null, application: "" };
  if (!isPublicKey(key.raw)) refuse(code, `\`${line}\` is not an Ed25519 public key.`);
  return key;
}

function partsOf(blob, code) {
  const parts = [];
  for (let at = 0; at < blob.length; ) {
    const size = at + 4 <= blob.length ? new DataView(blob.buffer, blob.byteOffset + at).getUint32(0) : Infinity;
    if (at + 4 + size > blob.length) refuse(code, "The security key is cut off.");
    parts.push(blob.slice(at + 4, at + 4 + size));
    at += 4 + size;
  }
  const application = String.fromCharCode(...(parts[2] ?? []).subarray(0, 257));
  const isKnown = parts.length === 3 && sameBytes(parts[0], utf8(SECURITY)) && /^[!-~]{1,256}$/.test(application);
  if (!isKnown) refuse(code, "It is not a security key of the type that Rye knows.");
  return { raw: parts[1], application };
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
