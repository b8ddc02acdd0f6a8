/** The common rules of docs/reference/protocol.md: origins, names, kinds, keys, one-line text. */
import { attempt, refuse } from "./encoding.mjs";
import { parseRange, parseVersion } from "./versions.mjs";

/** The endings that an item of each kind may have. */
export const KINDS = {
  directive: [".md"], knowledge: [".md"], agent: [".md"], role: [".md"], formula: [".formula.toml"],
  bundle: [".bundle.toml"], skill: ["SKILL.md"], tool: [".py", ".js", ".ts", ".sh", ".yaml"],
};
/** Kinds whose items are directly below their namespace. */
export const FLAT = ["agent", "role", "formula", "skill", "bundle"];
const SEGMENT = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/i;
const ORIGIN = /^[a-z0-9][a-z0-9.-]*(:[0-9]+)?(\/[a-z0-9._-]+)*$/;
const PATH = /^[A-Za-z0-9_][A-Za-z0-9._-]*(\/[A-Za-z0-9_][A-Za-z0-9._-]*)*$/;
const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const HOST = `(?:${LABEL}\\.)+(?![0-9]+(?:/|$))${LABEL}`;
const LOCAL = "(?:127\\.0\\.0\\.1|localhost):[1-9][0-9]{0,4}";
/** No encoded dot, slash or backslash: `/acme/%2e%2e/other` reads like acme's, and is other's. */
const FOLDERS = "(?:/(?!\\.)(?:%(?!2[eEfF]|5[cC])|[A-Za-z0-9._~!$&'()*+,;=:@-])+)+";
const WEB = `https://${HOST}(?:${FOLDERS})?/?`;
const HIDDEN = /[\p{Cc}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2028\u2029]/u;

const bad = (value, what) => refuse("statement-malformed", `\`${value}\` is not ${what}.`);
const demand = (isGood, value, what) => (isGood ? value : bad(value, what));

const isSegment = (text) => SEGMENT.test(text) && !DEVICE.test(text);
export const isOrigin = (text) => text.length <= 128 && ORIGIN.test(text);

/** A reference to an item: `[kind:]id`, the id of up to 16 segments. */
export function isReference(text) {
  const [id, kind = "tool", ...rest] = text.split(":").reverse();
  const segments = id.split("/");
  return rest.length === 0 && Object.hasOwn(KINDS, kind) && segments.length <= 16 && segments.every(isSegment);
}

/** `kind:id`, the id with its namespace. */
export const isIdentity = (text) => isReference(text) && /^\w+:(?!root\/)[^/]+\//.test(text);

export const namespaceOf = (identity) => identity.slice(identity.indexOf(":") + 1).split("/", 1)[0];

export const isNamespace = (text) => isSegment(text) && text !== "root";

/** A name of the name map: an identity, or `namespace:<segment>`. */
export const isName = (text) => (text.startsWith("namespace:") ? isNamespace(text.slice(10)) : isIdentity(text));


export const origin = (text) => demand(isOrigin(text), text, "an origin");
export const identity = (text) => demand(isIdentity(text), text, "a kind and a qualified id");
export const namespace = (text) => demand(isNamespace(text), text, "a namespace");
export const hash = (text) => demand(/^[0-9a-f]{64}$/.test(text), text, "a SHA-256");
export const attachedPath = (text) =>
  demand(text.length <= 200 && PATH.test(text) && text.split("/").every((one) => !one.endsWith(".") && !DEVICE.test(one.split(".", 1)[0])), text, "a safe relative path");
export const word = (text) => demand(/^[!-~]{1,512}$/.test(text), text, "one word of printable ASCII");
export const oneOf = (...words) => (text) => demand(words.includes(text), text, words.join(" or "));
export const matching = (pattern, what) => (text) => demand(pattern.test(text), text, what);
export const orDash = (parser) => (text) => (text === "-" ? null : parser(text));

/** Text for people, on one line. */
export const line = (most) => (text) =>
  demand([...text].length <= most && text !== "" && text.trim() === text && text.normalize("NFC") === text && !HIDDEN.test(text), text, `a line of at most ${most} characters`);

/** No number of a version in a statement has more than 16 digits. */
export function version(text) {
  const { numbers, pre } = parseVersion(text);
  return demand(![...numbers, ...pre].some((part) => /^\d{17,}$/.test(String(part))), text, "a version");
}

export const range = (text) =>
  demand(/^[!-~]+( [!-~]+)*$/.test(text) && text.length <= 1024 && parseRange(text), text, "a version range");

const whole = (pattern, what, most = 300) => (text) => demand(text.length <= most && new RegExp(`^(?:${pattern})$`).test(text), text, what);
const domain = whole(`${HOST}|${LOCAL}`, "a domain", 253);
const repository = whole(`(?:https://(?:${HOST}|${LOCAL})|http://${LOCAL})${FOLDERS}`, "a repository");
export const place = (method, text) => (method === "repository" ? repository : domain)(text);
/** An https address without port, user, query and fragment. */
export const link = whole(WEB, "a link");
export const contact = whole(`${WEB}|mailto:[A-Za-z0-9.!#$%&'*+/=_\`{|}~-]{1,64}@${HOST}`, "a contact");

/** The one spelling of a value in a policy: a text, a number, true or false, as JSON. */
function isValue(text) {
  const value = attempt(() => JSON.parse(text));
  if (typeof value === "string") return JSON.stringify(value) === text && !/\p{Cs}/u.test(value);
  return /^(?:true|false|[0-9]{1,16}(?:\.[0-9]{1,4})?)$/.test(text) && value <= Number.MAX_SAFE_INTEGER && String(value) === text.replace(/\.0$/, "");
}

/** A rule of a policy. @returns {{path: string, isMember: boolean}} `isMember`: of a list, which may have others */
export function policyRule(text) {
  const [, path, value] = /^([a-z][a-z-]{0,39}(?:\.[!-~]{1,200})?) (.*)$/s.exec(text) ?? bad(text, "a rule");
  const inner = /^\[(.*)\]$/s.exec(value)?.[1];
  demand(inner === "" || isValue(inner ?? value), text, "a rule");
  return { path, isMember: Boolean(inner) };
}
