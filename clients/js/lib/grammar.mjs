/** The common rules of docs/reference/protocol.md: origins, names, kinds, keys, one-line text. */
import { parseKey } from "./ed25519.mjs";
import { refuse } from "./encoding.mjs";
import { parseRange, parseVersion } from "./versions.mjs";

/** The endings that an item of each kind may have; flat kinds are directly below their namespace. */
export const KINDS = {
  directive: { suffixes: [".md"] },
  tool: { suffixes: [".py", ".js", ".ts", ".sh", ".yaml"] },
  knowledge: { suffixes: [".md"] },
  agent: { suffixes: [".md"], isFlat: true },
  role: { suffixes: [".md"], isFlat: true },
  formula: { suffixes: [".formula.toml"], isFlat: true },
  skill: { suffixes: ["SKILL.md"], isFlat: true },
  bundle: { suffixes: [".bundle.toml"], isFlat: true },
};
const SEGMENT = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/i;
const ORIGIN = /^[a-z0-9][a-z0-9.-]*(:[0-9]+)?(\/[a-z0-9._-]+)*$/;
const PATH = /^[A-Za-z0-9_][A-Za-z0-9._-]*(\/[A-Za-z0-9_][A-Za-z0-9._-]*)*$/;
const DOMAIN = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+(?![0-9]+$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const LOCAL = /^(127\.0\.0\.1|localhost):[1-9][0-9]{0,4}$/;
const HIDDEN = /[\p{Cc}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029]/u;

const bad = (value, what) => refuse("statement-malformed", `\`${value}\` is not ${what}.`);
const demand = (isGood, value, what) => (isGood ? value : bad(value, what));

const isSegment = (text) => SEGMENT.test(text) && !DEVICE.test(text);
export const isOrigin = (text) => text.length <= 128 && ORIGIN.test(text);

/** `kind:id`, the id with its namespace. */
export function isIdentity(text) {
  const [kind, id, ...rest] = text.split(":");
  const segments = (id ?? "").split("/");
  return rest.length === 0 && Object.hasOwn(KINDS, kind) && segments.length >= 2 && segments.length <= 16 && segments.every(isSegment) && segments[0] !== "root";
}

export const namespaceOf = (identity) => identity.slice(identity.indexOf(":") + 1).split("/", 1)[0];

/** A name of the name map: an identity, or `namespace:<segment>`. */
export function isName(text) {
  return text.startsWith("namespace:") ? isNamespace(text.slice(10)) : isIdentity(text);
}

export const isNamespace = (text) => isSegment(text) && text !== "root";

export function isAttachedPath(path) {
  const segments = path.split("/");
  return path.length <= 200 && PATH.test(path) && segments.every((one) => !one.endsWith(".") && !DEVICE.test(one.split(".", 1)[0]));
}

export const origin = (text) => demand(isOrigin(text), text, "an origin");
export const identity = (text) => demand(isIdentity(text), text, "a kind and a qualified id");
export const namespace = (text) => demand(isNamespace(text), text, "a namespace");
export const hash = (text) => demand(/^[0-9a-f]{64}$/.test(text), text, "a SHA-256");
export const word = (text) => demand(/^[!-~]+$/.test(text), text, "one word of printable ASCII");
export const oneOf = (...words) => (text) => demand(words.includes(text), text, words.join(" or "));
export const matching = (pattern, what) => (text) => demand(pattern.test(text), text, what);
export const orDash = (parser) => (text) => (text === "-" ? null : parser(text));
export const key = (text) => parseKey(text);

/** Text for people, on one line. */
export const line = (most) => (text) =>
  demand([...text].length <= most && text !== "" && text.trim() === text && text.normalize("NFC") === text && !HIDDEN.test(text), text, `a line of at most ${most} characters`);

/** No number of a version in a statement has more than 16 digits. */
export function version(text) {
  const { numbers, pre } = parseVersion(text);
  return demand(![...numbers, ...pre].some((part) => /^\d{17,}$/.test(String(part))), text, "a version");
}

export function range(text) {
  demand(/^[!-~]+( [!-~]+)*$/.test(text) && text.length <= 1024, text, "a version range");
  parseRange(text);
  return text;
}

const domain = (text) => DOMAIN.test(text);

export function place(method, text) {
  if (method !== "repository") return demand(domain(text) || LOCAL.test(text), text, "a domain");
  const [, scheme, host, path] = /^(https?):\/\/([^/]+)\/([!-~]+)$/.exec(text) ?? bad(text, "a repository");
  const isHost = scheme === "https" ? domain(host) || LOCAL.test(host) : LOCAL.test(host);
  const isPath = /^[A-Za-z0-9._~%-]+(\/[A-Za-z0-9._~%-]+)*$/.test(path) && !path.split("/").some((one) => /^\.\.?$/.test(one));
  return demand(isHost && isPath && text.length <= 300, text, "a repository");
}

/** An https address without port, user, query and fragment. */
export function link(text) {
  const [, host] = /^https:\/\/([^/]+)(\/[A-Za-z0-9._~%!$&'()*+,;=:@/-]*)?$/.exec(text) ?? bad(text, "a link");
  return demand(domain(host) && text.length <= 300, text, "a link");
}

export function contact(text) {
  if (!text.startsWith("mailto:")) return link(text);
  const [, host] = /^mailto:[A-Za-z0-9._+-]+@([^@]+)$/.exec(text) ?? bad(text, "a contact");
  return demand(domain(host), text, "a contact");
}
