/** Ranges that the second client once read otherwise than Rye, found by asking both about the same texts. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { parseXml } from "../../clients/js/lib/xml.mjs";
import { contact, link, place } from "../../clients/js/lib/grammar.mjs";
import { allows, covers, parseRange, parseVersion } from "../../clients/js/lib/versions.mjs";

const on = (judge, range, version) => judge(parseRange(range), parseVersion(version));

test("an operator stands before its version, not before a comma", () => {
  for (const range of ["^, X", "=, 1.0.0", "> , 10", "==1.0.0"]) assert.throws(() => parseRange(range), range);
  for (const range of ["> =1", ">=1.x, > =1", "X - *.1", "1.x.3 - 2"]) assert.equal(on(allows, range, "2.0.0"), true, range);
});

test("a `*` among alternatives is all there is, as in npm, and covers every pre-release", () => {
  assert.equal(on(allows, "^1.0.0-a", "1.0.0-a"), true);
  for (const range of ["^1.0.0-a||", "^1.0.0-a || *", "^1.0.0-a || >=0.0.0"]) assert.equal(on(allows, range, "1.0.0-a"), false, range);
  for (const range of ["*", ">=0.0.0", "1.0.0 || x"]) assert.equal(on(covers, range, "0.0.0-a"), true, range);
});

test("places, links and contacts are those that Rye takes", () => {
  for (const text of ["https://a.example/~x:y/z", "https://a.example/x"]) assert.equal(place("repository", text), text);
  for (const text of ["https://a.example/.git", "https://a.example//x"]) {
    assert.throws(() => place("repository", text), text);
    assert.throws(() => link(text), text);
  }
  assert.equal(link("https://a.example/"), "https://a.example/");
  assert.equal(contact("mailto:a!b@c.example"), "mailto:a!b@c.example");
});

test("XML has no control characters, also not by number, and no other spaces in a tag", () => {
  assert.equal(parseXml("<a b='1'>x</a>").text, "x");
  for (const text of ["<a>\u000b</a>", "<a>\r</a>", "<a>&#0;</a>", "<a>&#xFFFE;</a>", "<a\u2028b='1'/>", "<a\u00a0/>"]) assert.throws(() => parseXml(text), JSON.stringify(text));
});
