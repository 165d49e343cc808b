// The gateway's own token: from the config, or a random one in the state folder that is made once and
// readable by its owner only.
import { createHash, timingSafeEqual } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { Fault, type Ids } from "@parley/protocol";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/** 43 of 62 characters carry 256 bits. */
const tokenLength = 43;

export function newToken(ids: Ids): string {
  return ids.code(alphabet, tokenLength);
}

/**
 * Reads the token file, or makes it (mode 0600). Safe when two processes start at once: both end with the
 * same token.
 */
export async function gatewayTokenIn(path: string, ids: Ids): Promise<string> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await makeOnce(path, `${newToken(ids)}\n`, ids);
  } catch (cause) {
    throw unusable(path, cause);
  }
  let token: string;
  try {
    // A copy or a careless backup may have widened it.
    await chmod(path, 0o600);
    token = (await readFile(path, "utf8")).trim();
  } catch (cause) {
    throw unusable(path, cause);
  }
  if (token.length < 16)
    throw new Fault(
      "invalid",
      `the token in ${path} is too short to be safe; delete the file and start again`,
    );
  return token;
}

/** Whole or not at all: another process never reads half a token, and a death leaves none behind. */
async function makeOnce(path: string, text: string, ids: Ids): Promise<void> {
  if (existsSync(path)) return;
  const draft = `${path}.${ids.uuid()}`;
  await writeFile(draft, text, { flag: "wx", mode: 0o600, flush: true });
  try {
    await link(draft, path);
  } catch (error) {
    // Some shared folders know no links.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

/** Compares in constant time: digests have one length, whatever was sent. */
export function sameToken(a: string, b: string): boolean {
  return timingSafeEqual(createHash("sha256").update(a).digest(), createHash("sha256").update(b).digest());
}

function unusable(path: string, cause: unknown): Fault {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new Fault("unavailable", `the gateway's token file ${path} cannot be used: ${reason}`, { cause });
}
