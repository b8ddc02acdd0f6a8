#!/usr/bin/env node
/**
 * Makes clients/js/check.html: one file that opens from disk, because browsers load no modules from there.
 * `node clients/js/page/make.mjs` writes it; with `--print` it goes to stdout. Each module becomes a function with its
 * exports as the result, in the order in which they need each other.
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const IMPORT = /^import (?:\* as (\w+)|(\{[^}]*\})) from "([^"]+)";\n/gm;
const EXPORT = /^export ((?:async )?(?:function\*?|const|class)) (\w+)/gm;
const made = new Map();
const parts = [];

/** The name of the constant that has what a module exports. */
function add(url) {
  if (made.has(url.href)) return made.get(url.href);
  const source = readFileSync(url, "utf8");
  const needs = [...source.matchAll(IMPORT)].map(([, whole, names, path]) => {
    const from = add(new URL(path, url));
    return whole ? `const ${whole} = ${from};` : `const ${names.replaceAll(" as ", ": ")} = ${from};`;
  });
  const exported = [...source.matchAll(EXPORT)].map(([, , name]) => name);
  const body = source.replace(IMPORT, "").replace(EXPORT, "$1 $2");
  const name = `$${made.size}`;
  made.set(url.href, name);
  parts.push(`const ${name} = (() => {\n${[...needs, body.trim()].join("\n")}\nreturn { ${exported.join(", ")} };\n})();`);
  return name;
}

const read = (name) => readFileSync(new URL(name, import.meta.url), "utf8");
const hashOf = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

add(new URL("page.mjs", import.meta.url));
const script = `"use strict";\n${parts.join("\n")}\n`;
const style = read("page.css");
if (script.includes("</script") || style.includes("</style")) throw new Error("A part would end its element.");
const policy = `default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; base-uri 'none'; form-action 'none'`;
const page = read("page.html").replace("{{POLICY}}", () => policy).replace("{{STYLE}}", () => style).replace("{{SCRIPT}}", () => script);
if (process.argv.includes("--print")) process.stdout.write(page);
else writeFileSync(new URL("../check.html", import.meta.url), page);
