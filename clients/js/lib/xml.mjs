/** The plain XML of a directive's fence (docs/how-to/directives.md, "The fence"): elements, attributes, text, comments. */
import { attempt, refuse } from "./encoding.mjs";

const NAME = "[\\p{L}_:][\\p{L}\\p{N}_.:-]*";
const ATTRIBUTE = new RegExp(`[ \\t\\n]+(${NAME})[ \\t\\n]*=[ \\t\\n]*("[^"<]*"|'[^'<]*')`, "gu");
const TAG = `<(/?)(${NAME})((?:${ATTRIBUTE.source})*)[ \\t\\n]*(/?)>`;
const TOKEN = new RegExp(`<!--(?:(?!--)[^])*-->|<!\\[CDATA\\[([^]*?)\\]\\]>|${TAG}|([^<]+)`, "uy");
const ENTITIES = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&apos;": "'" };

/** @typedef {{tag: string, attributes: Record<string, string>, children: Element[], text: string}} Element `text`: directly in it, trimmed */

const fail = (why) => refuse("item-invalid", `The directive's XML ${why}.`);

const isText = (text) => !/[^\t\n\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(text); // eslint-disable-line no-control-regex
const characterOf = (code) => attempt(() => String.fromCodePoint(code).match(/^[\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]$/u)?.[0]);
const unescaped = (text) =>
  text.replace(/&(?:#x([0-9a-f]+);|#([0-9]+);|[^;\s]*;?)/gi, (one, hex, decimal) =>
    ENTITIES[one] ?? characterOf(hex ? parseInt(hex, 16) : Number(decimal)) ?? fail(`has \`${one}\``));

/** @returns {Element} the root */
export function parseXml(source) {
  const top = { children: [], text: "" };
  const open = [top];
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < source.length; ) {
    const [, raw, closes, tag, written, , , isEmpty, text] = TOKEN.exec(source) ?? fail("is not well-formed");
    const within = open.at(-1);
    within.text += raw ?? unescaped(text ?? "");
    if (closes) {
      within.text = within.text.trim();
      if (open.pop().tag !== tag || written || isEmpty) fail(`has a \`</${tag}>\` that closes nothing`);
    } else if (tag) {
      const pairs = [...written.matchAll(ATTRIBUTE)].map(([, name, quoted]) => [name, unescaped(quoted.slice(1, -1))]);
      const element = { tag, attributes: Object.fromEntries(pairs), children: [], text: "" };
      if (Object.keys(element.attributes).length < pairs.length) fail(`has an attribute of \`<${tag}>\` twice`);
      within.children.push(element);
      if (!isEmpty && open.push(element) > 1 + 64) fail("is nested more than 64 deep");
    }
  }
  if (open.length > 1 || top.children.length !== 1 || top.text.trim() || !isText(source)) fail("does not have one root that ends, or has a character that XML does not allow");
  return top.children[0];
}
