/** What the second client derives from a directive (docs/how-to/directives.md), and which texts it does not believe. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { readDirective } from "../../clients/js/lib/directives.mjs";
import { demandAgreement } from "../../clients/js/lib/items.mjs";
import { utf8 } from "../../clients/js/lib/encoding.mjs";
import { textOf, verdict } from "./reading.mjs";

const EXAMPLE = `${/````markdown\n([^]*?)\n````/.exec(textOf("docs/how-to/directives.md"))[1]}\n`;
const GREET = `${/example: directive[^]*?````markdown\n([^]*?)\n````/.exec(textOf("docs/reference/kinds.md"))[1]}\n`;
const SECOND = "```xml\n<directive/>\n```\n";

test("the complete example of the documents", () => {
  assert.deepEqual(readDirective(EXAMPLE), {
    name: "deploy_service",
    version: "1.0.0",
    relations: [
      ["requires", "docker-runtime", "*"],
      ["depends_on", "acme/workflows/build_images", "^1.2"],
      ["conflicts_with", "acme/workflows/freeze", "*"],
    ],
    capabilities: [
      "rye.execute.tool.acme.shell.kubectl",
      "rye.execute.directive.acme.workflows.*",
      "rye.search.knowledge.*",
      "rye.load.knowledge.acme.runbooks.*",
      "rye.sign.knowledge.acme.runbooks.*",
    ],
    hooks: [["directive", "acme/workflows/report_trouble"]],
  });
  assert.deepEqual(readDirective(GREET).capabilities, ["rye.execute.tool.rye.file-system.write"]);
});

const swap = (from, to) => {
  assert.equal(EXAMPLE.split(from).length, 2, from);
  return EXAMPLE.replace(from, () => to);
};
const RELATION = '<depends_on version="^1.2">acme/workflows/build_images</depends_on>';

test("other ways to write the same", () => {
  const same = {
    "a comment above it": `<!-- a note -->\n${EXAMPLE}`,
    "an example in a longer fence above it": `\`\`\`\`text\n${SECOND}\`\`\`\`\n${EXAMPLE}`,
    "tildes": swap("```xml", "~~~ xml").replace("</directive>\n```", "</directive>\n~~~~"),
    "a character reference": swap("acme.shell.kubectl</tool>", "acme.shell.kubect&#108;</tool>"),
    "a CDATA section": swap("<tool>acme.shell.kubectl</tool>", "<tool><![CDATA[acme.shell.kubectl]]></tool>"),
    "a slash": swap("<tool>acme.shell.kubectl", "<tool>acme/shell/kubectl"),
    "a range in the text": swap(RELATION, "<depends_on>acme/workflows/build_images@^1.2</depends_on>"),
    "the range twice": swap(RELATION, '<depends_on version="^1.2">acme/workflows/build_images@^1.2</depends_on>'),
    "a namespace in a template": swap("<line>", '<x:line xmlns:x="y">').replace("</line>", "</x:line>"),
  };
  for (const [name, text] of Object.entries(same)) assert.deepEqual(readDirective(text), readDirective(EXAMPLE), name);
});

test("texts that another reader could understand in another way", async () => {
  const cases = {
    "a second directive": [`${EXAMPLE}\n${SECOND}`, "item-invalid"],
    "another root": [`${SECOND.replace("directive", "other")}${EXAMPLE}`, "item-invalid"],
    "no end": [EXAMPLE.slice(0, EXAMPLE.indexOf("</directive>")), "item-invalid"],
    "an end with other marks": [swap("</directive>\n```", "</directive>\n```~"), "item-invalid"],
    "a fence in a list above it": [`- \`\`\`text\n  a\n  \`\`\`\n\n${EXAMPLE}`, "item-unread"],
    "a fence in a quote above it": [`> \`\`\`xml\n> <directive/>\n\n${EXAMPLE}`, "item-unread"],
    "HTML above it": [`<details>\n${EXAMPLE}`, "item-unread"],
    "a comment of several lines above it": [`<!--\n${SECOND}-->\n${EXAMPLE}`, "item-invalid"],
    "an entity": [swap("0.9", "&nine;"), "item-invalid"],
    "a DOCTYPE": [swap('<directive name="deploy', '<!DOCTYPE directive>\n<directive name="deploy'), "item-invalid"],
    "an instruction": [swap('<directive name="deploy', '<?x?>\n<directive name="deploy'), "item-invalid"],
    "an attribute twice": [swap('name="deploy_service"', 'name="a" name="deploy_service"'), "item-invalid"],
    "a namespace": [swap("  <metadata>", '  <metadata xmlns="x">'), "item-invalid"],
    "a right with an attribute": [swap("<tool>acme.shell", '<tool a="b">acme.shell'), "item-invalid"],
    "a right without a primary": [swap("<execute>\n", "<tool>x</tool><execute>\n"), "item-invalid"],
    "everything and more": [swap("<search>\n", "<search>*\n"), "item-invalid"],
    "no path": [swap("acme.shell.kubectl</tool>", "acme shell</tool>"), "item-invalid"],
    "permissions twice": [swap("<cost>", "<permissions>*</permissions><cost>"), "item-invalid"],
    "two ranges": [swap(RELATION, '<depends_on version="^1">acme/x/y@^2</depends_on>'), "item-invalid"],
    "a hook without a condition": [EXAMPLE.replace(/<when>[^]*?<\/when>/, "<when/>"), "item-invalid"],
    "no model": [EXAMPLE.replace(/<model[^]*?<\/model>/, ""), "item-invalid"],
  };
  for (const [name, [text, code]] of Object.entries(cases)) {
    assert.notEqual(text, EXAMPLE, name);
    assert.equal(await verdict(() => readDirective(text)), code, name);
  }
});

test("a long text that is no directive is refused at once", async () => {
  const start = performance.now();
  for (const text of ["\n".repeat(2 ** 20), "> ".repeat(2 ** 19), "```\n".repeat(2 ** 18), "<".repeat(2 ** 20), `\`\`\`xml\n${"<a>".repeat(2 ** 16)}${"</a>".repeat(2 ** 16)}\n\`\`\`\n`]) {
    assert.equal(await verdict(() => readDirective(text)), "item-invalid");
  }
  assert.ok(performance.now() - start < 5000);
});

test("kinds without rights", async () => {
  const said = { id: "skill:acme/pdf", version: "1.0.0", depends_on: [], requires: [], conflicts_with: [], capability: [], hook: [] };
  assert.equal(demandAgreement(said, utf8("---\nname: pdf\n---\n")).relations, null);
  assert.deepEqual(demandAgreement({ ...said, id: "role:acme/tester" }, utf8("# Tester\n")).relations, []);
  for (const more of [{ capability: ["rye.*"] }, { hook: [["tool", "acme/x"]] }]) {
    assert.equal(await verdict(() => demandAgreement({ ...said, ...more }, utf8("---\nname: pdf\n---\n"))), "manifest-mismatch");
  }
});
