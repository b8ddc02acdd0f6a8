/**
 * Policies of witnesses (c2sp.org/tlog-policy) and their cosignatures (c2sp.org/tlog-cosignature). WebCrypto knows no
 * ML-DSA-44: a witness with such a key may stand in a policy, and never counts as having cosigned.
 */
import { isPublicKey, verifies } from "./ed25519.mjs";
import { concat, hex, refuse, utf8 } from "./encoding.mjs";
import { splitVerifierKey } from "./notes.mjs";

const [ED25519, ML_DSA] = [4, 6];

/** @typedef {{members: string[], needed: number}} Group @typedef {{logs: any[], witnesses: Map<string, any>, groups: Map<string, Group>, quorum: string}} Policy */

/** @returns {Promise<Policy>} */
export async function parsePolicy(text) {
  const fail = (row, why) => refuse("policy-malformed", `\`${row}\`: ${why}.`);
  if (!text.endsWith("\n") || /[\u0000-\u0008\u000b-\u001f\u007f]/.test(text)) fail("policy", "its lines do not end as they must"); // eslint-disable-line no-control-regex
  const policy = { logs: [], witnesses: new Map(), groups: new Map(), quorum: "" };
  const [materials, used] = [new Set(), new Set()];
  const isNew = (among, one) => !among.has(one) && among.add(one);
  const vkey = async (row, encoded, types) => {
    const key = await splitVerifierKey(encoded, types, "policy-malformed");
    const isGood = key.type === ML_DSA ? key.material.length === 1312 : isPublicKey(key.material);
    return isGood && isNew(materials, `${types[0]} ${hex(key.material)}`) ? key : fail(row, "the key is wrong, or twice");
  };
  const isKnown = (name) => policy.witnesses.has(name) || policy.groups.has(name);
  const fresh = (row, name) => (name === "none" || isKnown(name) ? fail(row, "the name is taken") : name);
  for (const row of text.slice(0, -1).split("\n")) {
    const [word, ...rest] = row.split(/[ \t]+/).filter(Boolean);
    if (word === undefined || word.startsWith("#")) continue;
    if (word === "log" && [1, 2].includes(rest.length)) policy.logs.push(await vkey(row, rest[0], [1]));
    else if (word === "witness" && [2, 3].includes(rest.length)) policy.witnesses.set(fresh(row, rest[0]), await vkey(row, rest[1], [ED25519, ML_DSA]));
    else if (word === "group" && rest.length >= 3) {
      const [name, count, ...members] = rest;
      if (!members.every((one) => isKnown(one) && isNew(used, one))) fail(row, "a member is not known, or is one twice");
      const needed = { all: members.length, any: 1 }[count] ?? (/^[1-9][0-9]*$/.test(count) ? Number(count) : 0);
      if (needed < 1 || needed > members.length) fail(row, "it needs more members than it has, or none");
      policy.groups.set(fresh(row, name), { members, needed });
    } else if (word === "quorum" && rest.length === 1 && !policy.quorum && (rest[0] === "none" || isKnown(rest[0]))) policy.quorum = rest[0];
    else fail(row, "it is not a line of a policy");
  }
  return policy.quorum ? policy : fail("policy", "there is no quorum line");
}

/**
 * When each witness of the policy cosigned; a wrong line of one of them refuses the whole head.
 * @param {Policy} policy @param {import("./notes.mjs").Note} note @returns {Promise<Map<string, number>>} by the witness's name
 */
async function cosigned(policy, note) {
  const times = new Map();
  for (const [name, key] of policy.witnesses) {
    if (key.type !== ED25519) continue;
    for (const { signature } of note.lines.filter((one) => one.name === key.name && one.id === key.id)) {
      const time = signature.length === 72 ? Number(new DataView(signature.buffer, signature.byteOffset).getBigUint64(0)) : NaN;
      const message = concat(utf8(`cosignature/v1\ntime ${time}\n`), utf8(note.text));
      const isGood = Number.isSafeInteger(time) && (await verifies(key.material, message, signature.slice(8)));
      if (!isGood) refuse("cosignature-wrong", "A cosignature of a witness does not belong to the head.");
      times.set(name, Math.max(time, times.get(name) ?? 0));
    }
  }
  return times;
}

function holds(policy, name, witnesses) {
  const group = policy.groups.get(name);
  return name === "none" || (group ? group.members.filter((one) => holds(policy, one, witnesses)).length >= group.needed : witnesses.has(name));
}

/**
 * What the policy says of this checkpoint, among cosignatures from `since` to `until`: no problem, or which.
 * @returns {Promise<{problem: null | "witness-quorum" | "witness-frozen", times: Map<string, number>}>}
 */
export async function standing(policy, note, since = 0, until = Infinity) {
  const times = await cosigned(policy, note);
  const isMet = (from) => holds(policy, policy.quorum, new Map([...times].filter(([, time]) => time >= from && time <= until)));
  return { problem: isMet(since) ? null : isMet(0) ? "witness-frozen" : "witness-quorum", times };
}
