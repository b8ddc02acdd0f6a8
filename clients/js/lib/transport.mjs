/**
 * Reads a registry's static files, over https (http on this machine alone) or from a folder, never more than was asked
 * for (docs/reference/protocol.md, "Reading").
 */
import { concat, Refusal, refuse, sha256hex } from "./encoding.mjs";

const SECONDS = 30;

/** @typedef {(path: string, limit: number, code?: string) => Promise<Uint8Array | null>} Read null: there is no such file; `code`: what a larger file is refused with */

async function limited(body, limit, url, code) {
  const parts = [];
  let size = 0;
  for await (const part of body ?? []) {
    size += part.length;
    if (size > limit) refuse(code, `${url} is larger than ${limit} bytes.`);
    parts.push(part);
  }
  return concat(...parts);
}

/**
 * A file that is named by its hash. `what` begins the codes: map, index, blob.
 * @param {Read} read @param {{sha256: string, size?: number}} named @param {number} most of its bytes, where no size is named @param {string} code where it has more
 */
export async function readHashed(read, path, { sha256, size }, what, most = size, code = `${what}-size`) {
  const bytes = (await read(path, most, code)) ?? refuse(`${what}-missing`, "A file that the registry must have is missing.");
  if (size !== undefined && bytes.length !== size) refuse(`${what}-size`, "A file does not have the size that the registry signed.");
  return (await sha256hex(bytes)) === sha256 ? bytes : refuse(`${what}-hash`, "A file is not the one that the registry signed.");
}

/** @param {string} address of the registry root @param {((path: string) => any) | null} open reads a file of this machine as parts, or null @returns {Read} */
export function reader(address, open = null) {
  const root = new URL(address.endsWith("/") ? address : `${address}/`);
  const isLocal = ["127.0.0.1", "localhost", "[::1]"].includes(root.hostname);
  if (root.protocol !== "https:" && !(root.protocol === "http:" && isLocal) && !(root.protocol === "file:" && open)) refuse("bad-address", `${address} is not https.`);
  return async (path, limit, code = "answer-too-large") => {
    const url = new URL(path, root);
    const parts = root.protocol === "file:" ? open(url) : null;
    if (root.protocol === "file:") return parts && limited(parts, limit, url, code);
    try {
      const answer = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(SECONDS * 1000), credentials: "omit" });
      if (answer.status === 404) return null;
      if (answer.status === 451) refuse("release-taken-down", `${url} was taken down.`);
      if (answer.status !== 200) refuse("registry-failed", `${url} answered ${answer.status}.`);
      return await limited(answer.body, limit, url, code);
    } catch (error) {
      if (error instanceof Refusal) throw error;
      return refuse("registry-unreachable", `${url} did not answer: ${error.cause?.message ?? error.message}.`);
    }
  };
}
