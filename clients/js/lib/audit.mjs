/**
 * A registry as a whole: every entry of its log, every name of its map, and that each explains the other
 * (docs/reference/protocol.md, "Index, name map, head": all of them are functions of the log alone).
 */
import { decodeText, hashOfText, refuse } from "./encoding.mjs";
import { tilePath } from "./merkle.mjs";
import { parseNote, signersOf } from "./notes.mjs";
import { demandOwners, logKeys } from "./owners.mjs";
import { parseStatement } from "./statements.mjs";

const MAX_BUNDLE = 256 * 65_537;

/** @returns {AsyncGenerator<{position: number, data: Uint8Array}>} the leaves, each checked against its tile */
async function* entries(client) {
  const { size } = client.head;
  for (let first = 0; first < size; first += 256) {
    const width = Math.min(256, size - first);
    const whole = width < 256 ? await client.read(tilePath("entries", first / 256, width), MAX_BUNDLE) : null;
    const bundle = whole ?? (await client.read(tilePath("entries", first / 256), MAX_BUNDLE)) ?? refuse("tile-missing", "A part of the log is missing.");
    const view = new DataView(bundle.buffer, bundle.byteOffset, bundle.length);
    let at = 0;
    for (let position = first; position < first + width; position++) {
      const end = at + 2 <= bundle.length ? at + 2 + view.getUint16(at) : Infinity;
      if (end > bundle.length) refuse("bundle-malformed", "A part of the registry's log is malformed.");
      const data = bundle.slice(at + 2, end);
      await client.tree.demandLeaf(position, data, "entry-mismatch");
      yield { position, data };
      at = end;
    }
  }
}

/** @param {import("./client.mjs").Client} client @returns {Promise<{entries: number, names: number, releases: number}>} */
export async function audit(client) {
  const [listed, counts] = [new Map(), { entries: client.head.size, names: 0, releases: 0 }];
  for await (const row of client.map.all()) {
    counts.names++;
    const namespace = /^namespace:(.*)/.exec(row.name)?.[1];
    const about = namespace ? [await client.keysets(namespace), await client.ownerStatements(namespace)] : [await client.history(row.name)];
    counts.releases += about[0].releases?.size ?? 0;
    for (const { position, sha256 } of about.flatMap((one) => one.entries)) listed.set(position, sha256);
  }
  let [root, policy] = [1, null]; // those in force at the position
  const keys = (await Promise.all(client.roots.map(logKeys))).flat();
  for await (const { position, data } of entries(client)) {
    const note = parseNote(decodeText(data, "entry-malformed"));
    const said = parseStatement(note.text);
    if (said.origin !== client.head.origin) refuse("entry-foreign", "An entry of the log belongs to another registry.");
    if (said.type === "rye.snapshot/v1") {
      if ((await signersOf(note, keys)).size === 0) refuse("snapshot-signature", "The log did not sign a snapshot.");
    } else if (said.type === "rye.root/v1") {
      if (client.roots[said.number - 1]?.text !== said.text) refuse("root-chain", "The log has a root that is not one of the registry's.");
      root = Math.max(root, said.number);
    } else if (said.type === "rye.policy/v1") {
      const follows = said.number === (policy?.number ?? 0) + 1 && (!policy || (said.previous === (await hashOfText(policy.text)) && said.time >= policy.time));
      if (!follows) refuse("policy-chain", `The policy at entry ${position} does not follow the one before it.`);
      await demandOwners({ note, position }, { roots: client.roots.slice(root - 1, root), sizes: {} }, "policy-signer");
      policy = said;
    } else if (said.type !== "rye.clock/v1" && listed.get(position) !== (await hashOfText(note.text))) {
      refuse("audit-failed", `Entry ${position} of the log is in no index file.`);
    }
  }
  return counts;
}
