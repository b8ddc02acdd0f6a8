/** Whether a release agrees with its item's bytes (docs/reference/kinds.md, "What a release says of it"). */
import { readDirective } from "./directives.mjs";
import { decodeText, refuse } from "./encoding.mjs";

/**
 * What a file declares. `relations`: name of the line, reference, range; null: this client does not read them.
 * @typedef {{name?: string, version?: string, relations: [string, string, string][] | null, capabilities: string[], hooks: [string, string][]}} Declared
 */

const differs = (what) => refuse("manifest-mismatch", `The release has another ${what} than the bytes of its item.`);
const sorted = (values) => [...new Set(values)].sort().join("\n");
const plain = (text) => text.replaceAll("_", "-");

/** Whether a reference in the item `id` may mean `target`; null: a feature of the environment ("Relations"). */
function mayMean(id, { reference, target }) {
  if (target === null) return !reference.includes(":");
  const [, kind, name] = /^(?:(.*):)?(.*)$/.exec(reference);
  const [other, found] = target.split(":");
  const folders = id.slice(id.indexOf(":") + 1).split("/").slice(0, -1);
  const names = name.includes("/") ? [name] : folders.map((_, at) => [...folders.slice(0, at + 1), name].join("/"));
  return (kind ?? other) === other && names.some((one) => plain(one) === plain(found));
}

/**
 * Demands that a release agrees with the bytes of its item's own file.
 * @param {import("./statements.mjs").Statement} said @param {Uint8Array} data @returns {Declared}
 */
export function demandAgreement(said, data) {
  const text = decodeText(data, "item-invalid");
  if (text.includes("\r\n")) refuse("item-invalid", "The lines of the file do not end in LF.");
  const kind = said.id.split(":", 1)[0];
  const others = { relations: kind === "role" ? [] : null, capabilities: [], hooks: [] };
  const declared = kind === "directive" ? readDirective(text) : others;
  for (const line of ["depends_on", "requires", "conflicts_with"]) {
    const found = declared.relations?.filter(([one]) => one === line).map(([, ...rest]) => rest.join(" "));
    const noted = said[line].map(({ reference, range }) => `${reference} ${range}`);
    if (found && sorted(found) !== sorted(noted)) differs(line);
    if (!said[line].every((one) => mayMean(said.id, one))) differs(line);
  }
  if (sorted(said.capability) !== sorted(declared.capabilities)) differs("right");
  if (sorted(said.hook.map(String)) !== sorted(declared.hooks.map(String))) differs("hook");
  if ((declared.version ?? said.version) !== said.version) differs("version");
  if (declared.name !== undefined && !said.id.endsWith(`/${declared.name}`)) differs("name");
  return declared;
}
