/** C2SP signed notes, and the keys in whose name lines are signed (c2sp.org/signed-note). */
import { parseKey, SECURITY, signedBy } from "./ed25519.mjs";
import { base64, concat, fromBase64, hex, refuse, sha256hex, utf8 } from "./encoding.mjs";

export const MAX_NOTE = 60_000;
const MAX_LINES = 32;
const LINE = /^— ([^\s+\u0085\u001c-\u001f]{1,256}) ([A-Za-z0-9+/=]+)$/u;

/** @typedef {{text: string, whole: string, lines: {name: string, id: string, signature: Uint8Array}[]}} Note */
/** @typedef {import("./ed25519.mjs").Key & {name: string, id: string}} NamedKey */

/** @returns {Note} */
export function parseNote(whole) {
  if (utf8(whole).length > MAX_NOTE) refuse("note-too-large", `A signed note has at most ${MAX_NOTE} bytes.`);
  const cut = whole.lastIndexOf("\n\n");
  // eslint-disable-next-line no-control-regex
  if (cut < 0 || !whole.endsWith("\n") || /[\u0000-\u0009\u000b-\u001f]/.test(whole)) refuse("note-malformed", "It is not a signed note.");
  const rows = whole.slice(cut + 2, -1).split("\n");
  if (rows.length > MAX_LINES) refuse("note-malformed", `A note has at most ${MAX_LINES} signature lines.`);
  const lines = rows.map((row) => {
    const [, name, encoded] = LINE.exec(row) ?? refuse("note-malformed", "A signature line is malformed.");
    const bytes = fromBase64(encoded);
    if (bytes.length < 5) refuse("note-malformed", "A signature line is too short.");
    return { name, id: hex(bytes.subarray(0, 4)), signature: bytes.slice(4) };
  });
  return { text: whole.slice(0, cut + 1), whole, lines };
}

/** The key ID that C2SP recommends: `type` and the key, in the name of `name`. */
export const keyId = async (name, type, material) => (await sha256hex(concat(utf8(name), Uint8Array.of(0x0a, type), material))).slice(0, 8);

/** @returns {Promise<NamedKey>} */
export const named = async (name, key) => ({ ...key, name, id: await (key.blob ? keyId(name, 0xff, key.blob) : keyId(name, 1, key.raw)) });

/** `<name>+<hex key ID>+<base64 of type and key>` of an Ed25519 key or a security key. @returns {Promise<NamedKey>} */
export async function parseVerifierKey(text) {
  const { name, id, type, material } = await splitVerifierKey(text, [1, 0xff]);
  const line = `${type === 1 ? "" : `${SECURITY} `}${base64(material)}`;
  return { ...parseKey(line, "note-key-invalid"), name, id };
}

/** @param {NamedKey} key an Ed25519 key */
export const verifierKey = ({ name, id, raw }) => `${name}+${id}+${base64(concat(Uint8Array.of(1), raw))}`;

/** The parts of a verifier key of one of these types, with the key ID that belongs to them. */
export async function splitVerifierKey(text, types, code = "note-key-invalid") {
  const [, name, id, encoded = ""] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text) ?? [];
  const [type, material] = [fromBase64(encoded, code)].flatMap((bytes) => [bytes[0], bytes.slice(1)]);
  const isGood = types.includes(type) && (await keyId(name, type, material)) === id;
  return isGood ? { name, id, type, material } : refuse(code, `\`${text}\` is no verifier key of a type that counts here.`);
}

/**
 * Which of `keys` signed. A line of an unknown key is ignored, a wrong line of a known one refuses the whole note.
 * @param {Note} note @param {NamedKey[]} keys @returns {Promise<Map<NamedKey, string>>} how each signed
 */
export async function signersOf(note, keys, code = "note-signature-wrong") {
  const signers = new Map();
  for (const { name, id, signature } of note.lines) {
    for (const key of keys.filter((one) => one.name === name && one.id === id)) {
      const how = await signedBy(key, utf8(note.text), signature);
      if (!how) refuse(code, `A signature of ${name} does not belong to the text.`);
      // A key that signed twice counts once, with the weaker of its signatures.
      if (signers.get(key) !== "present") signers.set(key, how);
    }
  }
  return signers;
}

export async function demandSigners(note, keys, threshold, code = "note-threshold", wrong = "note-signature-wrong") {
  const { size } = await signersOf(note, keys, wrong);
  if (size < threshold) refuse(code, `${size} of ${threshold} signatures are there.`);
}
