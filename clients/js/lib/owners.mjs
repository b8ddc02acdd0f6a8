/**
 * Roots of a registry: how one follows from the other, and whose signature counts where (docs/reference/statements.md,
 * "rye.root/v1" and "Which owners count").
 */
import { demandSigners, named, parseNote, signersOf } from "./notes.mjs";
import { hashOfText, refuse } from "./encoding.mjs";
import { parseStatement } from "./statements.mjs";

/** @typedef {import("./statements.mjs").Statement} Statement */
/** @typedef {{roots: Statement[], sizes: Record<number, number>}} Owners `sizes`: of the first heads, by the number of their root */

const rootKeys = (root) => Promise.all(root.owner.map((key) => named(`${root.origin}/root`, key)));
export const logKeys = (root) => Promise.all(root.log.map((key) => named(root.origin, key)));

/** Root 1 with the fingerprint that was pinned, or the root after `before`. @returns {Promise<Statement>} */
export async function acceptRoot(note, before, fingerprint = null) {
  const parsed = parseNote(note);
  const root = parseStatement(parsed.text);
  if (root.type !== "rye.root/v1") refuse("statement-kind", "It is not a root.");
  if (before === null && (await hashOfText(root.text)) !== fingerprint) refuse("root-fingerprint", "The registry does not have the fingerprint that you expect.");
  if (root.number !== (before?.number ?? 0) + 1) refuse("root-number", "The registry's roots are numbered wrongly.");
  if (before !== null) {
    if (root.origin !== before.origin) refuse("root-origin", "The next root is of another registry.");
    if (root.previous !== (await hashOfText(before.text))) refuse("root-chain", "The registry's new root does not follow the previous one.");
    if (root.time < before.time) refuse("root-time", "The registry's new root is older than the one that you trust.");
  }
  await demandSigners(parsed, await rootKeys(root), root.threshold, "root-signatures");
  if (before !== null) await demandSigners(parsed, await rootKeys(before), before.threshold, "root-takeover");
  return root;
}

/**
 * Demands that a note is signed by the owners who count at its position: from the size of the first head under a root on,
 * owners of earlier roots sign nothing; before it, those of any root do.
 * @param {{note: import("./notes.mjs").Note, position: number}} entry @param {Owners} owners @param {number} least root that counts
 */
export async function demandOwners({ note, position }, { roots, sizes }, code, least = 1) {
  const first = Math.max(least, ...roots.map((root) => root.number).filter((number) => sizes[number] <= position));
  for (const root of roots.filter((one) => one.number >= first)) {
    if ((await signersOf(note, await rootKeys(root))).size >= root.threshold) return;
  }
  refuse(code, "Too few of the registry's owners signed it.");
}
