/**
 * What a directive declares (docs/how-to/directives.md): its fence, and the relations, rights and hooks in it. Of the
 * format's other rules, those are here without which two readers could see two directives, or something required lacks.
 */
import { refuse } from "./encoding.mjs";
import { isReference } from "./grammar.mjs";
import { parseXml } from "./xml.mjs";

const PRIMARIES = ["execute", "search", "load", "sign"];
const TYPES = ["directive", "tool", "knowledge"];
const RELATIONS = ["depends_on", "requires", "conflicts_with"];
const PARTS = ["description", "category", "author", "model", "permissions", "cost", "limits", "context", "hooks"];
const SEGMENT = "(?:[A-Za-z0-9_*?-]|\\[!?[A-Za-z0-9_./-]+\\])+";
const PATTERN = new RegExp(`^${SEGMENT}(?:[./]${SEGMENT})*$`);

const demand = (holds, why) => holds || refuse("item-invalid", `The directive is malformed: ${why}.`);

/** A fence at the start of a line: its marks, info string, text, and its end if it has one. */
const FENCE = /^(`{3,}(?=[^`\n]*$)|~{3,})([^\n]*)\n([^]*?)(?:(^ {0,3}\1(?:(?<=`)`*|(?<=~)~*)[ \t]*$)|(?![^]))/gm;
/** What decides only for readers of all of CommonMark where fences are: those in lists and quotes, and HTML. */
const UNREAD = /^[ \t>*+\-\d.)]*(?:`{3,}[^`\n]*$|~{3,})|^[ \t]*<(?!!--.*-->$)/m;

/** "The fence": the text of the first one whose info string begins with `xml`. */
function fenceOf(text) {
  const [first, ...others] = [...text.matchAll(FENCE)].filter(([, , info]) => /^\s*xml/.test(info));
  const isDouble = others.some(([, , , content]) => /^\s*<(?:\w+:)?directive\b/.test(content));
  demand(first?.[4] !== undefined && !isDouble, "it has no fence, one without end, or two");
  const isUnread = UNREAD.test(text.slice(0, first.index).replace(FENCE, ""));
  return isUnread ? refuse("item-unread", "There is HTML or a nested fence before that of the directive.") : first[3];
}

/** The child of that name; two would let two readers read two things. */
function single(element, tag) {
  const [found, ...others] = element.children.filter((one) => one.tag === tag);
  return demand(others.length === 0, `it has \`<${tag}>\` twice`) && found;
}

const isBare = (element, ...attributes) => Object.keys(element.attributes).every((one) => attributes.includes(one));
const isPlain = ({ tag, attributes, children }) =>
  ![tag, ...Object.keys(attributes)].some((name) => /:|^xmlns$/.test(name)) && children.every(isPlain);
const isLeaf = (element, ...attributes) => isBare(element, ...attributes) && element.children.length === 0;

/** "Permissions": `*` alone, or what each child grants; those of `rye` are primaries, and theirs types. */
function rights(element, name) {
  if (isLeaf(element) && element.text === "*") return [`${name}.*`];
  demand(isBare(element) && element.text === "", `\`<${element.tag}>\` has more than what it grants`);
  return element.children.flatMap((child) => {
    if (name === "rye" && child.tag === "acknowledge") return [];
    if (name === "rye" && PRIMARIES.includes(child.tag)) return rights(child, `rye.${child.tag}`);
    const isType = name !== "rye" && TYPES.includes(child.tag) && isLeaf(child) && PATTERN.test(child.text);
    return demand(isType, "one of its rights") && `${name}.${child.tag}.${child.text.replaceAll("/", ".")}`;
  });
}

/** "Relations": the range is the attribute, or is behind an `@`. */
function relation(element) {
  const { version } = element.attributes;
  const [reference, range = version ?? "*"] = element.text.split(/@(.*)/s, 2);
  const isOne = isReference(reference) && isLeaf(element, "version") && range.trim() === (version ?? range).trim();
  demand(isOne, `\`<${element.tag}>\` is no relation`);
  return [element.tag, reference, range.trim().replace(/\s+/g, " ")];
}

/** "Hooks": what one executes. */
function hook(element) {
  const [when, execute] = ["when", "execute"].map((tag) => single(element, tag));
  const isHook = element.tag === "hook" && element.text === "" && when?.text && execute && isLeaf(execute, "item_type");
  demand(isHook && TYPES.includes(execute.attributes.item_type) && isReference(`tool:${execute.text}`), "a hook");
  return [execute.attributes.item_type, execute.text];
}

/** @returns {import("./items.mjs").Declared} */
export function readDirective(text) {
  const root = parseXml(fenceOf(text));
  const { name = "", version } = root.attributes;
  const isRoot = root.tag === "directive" && isBare(root, "name", "version");
  demand(isRoot && /^[a-z][a-z0-9_]{0,63}$/.test(name) && /^\d+\.\d+\.\d+$/.test(version), "its root, name or version");
  const metadata = single(root, "metadata") ?? demand(false, "it has no metadata");
  const part = Object.fromEntries(PARTS.map((tag) => [tag, single(metadata, tag)]));
  const isSaid = ["description", "category", "author"].every((tag) => part[tag]?.text) && part.model?.attributes.tier;
  demand(isSaid && part.permissions && (part.cost ?? part.limits), "a part of its metadata is missing");
  demand(isPlain(metadata) && (!part.hooks || (isBare(part.hooks) && !part.hooks.text)), "what is in its metadata");
  const relations = (part.context?.children ?? []).filter((one) => RELATIONS.includes(one.tag)).map(relation);
  const hooks = (part.hooks?.children ?? []).map(hook);
  return { name, version, relations, capabilities: rights(part.permissions, "rye"), hooks };
}
