/** The vectors of this repository, as the tests of the second client read them. */
import { readFileSync } from "node:fs";

const ROOT = new URL("../../", import.meta.url);

export const bytesOf = (path) => new Uint8Array(readFileSync(new URL(path, ROOT)));
export const textOf = (path) => readFileSync(new URL(path, ROOT), "utf8");
export const jsonOf = (path) => JSON.parse(textOf(path));
export const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** The code of the refusal, or "accepted". */
export async function verdict(work) {
  try {
    await work();
    return "accepted";
  } catch (error) {
    if (error.code === undefined) throw error;
    return error.code;
  }
}
