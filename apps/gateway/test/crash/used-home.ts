// A state folder that a daemon has answered in and left in order: made once, and copied for each test that
// harms one.
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freshHome } from "../e2e/daemon.ts";
import { stage } from "./stage.ts";

export interface UsedHome {
  /** One of its own for a test; `cleanUp` removes it. */
  copy(): Promise<string>;
  remove(): Promise<void>;
}

export async function usedHome(): Promise<UsedHome> {
  const home = await mkdtemp(join(tmpdir(), "parley-used-"));
  const at = await stage({ home });
  try {
    await at.start();
    at.says("telegram");
    await at.quiet("telegram");
    await at.end();
  } finally {
    await at.close();
  }
  return {
    async copy() {
      const to = await freshHome();
      await cp(home, to, { recursive: true, verbatimSymlinks: true });
      return to;
    },
    remove: () => rm(home, { recursive: true, force: true, maxRetries: 5 }),
  };
}
