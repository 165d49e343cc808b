// A home on a file system of its own that is nearly full. Only root can make one.
import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freshHome } from "../e2e/daemon.ts";

export interface SmallDisk {
  readonly home: string;
  /** Fills what is left. */
  fill(): void;
  free(): void;
  unmount(): void;
}

/** Null when one can be made here, else why not. */
export const whyNoSmallDisk = process.getuid?.() === 0 ? null : "only root can mount a small file system";

export async function smallDisk(megabytes: number): Promise<SmallDisk> {
  const home = await freshHome();
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=700`, "tmpfs", home], {
    encoding: "utf8",
  });
  if (mounted.status !== 0) throw new Error(`no file system could be mounted at ${home}: ${mounted.stderr}`);
  const filler = join(home, "filler");
  return {
    home,
    fill() {
      // Ever smaller pieces, until not one more page fits.
      for (let bytes = 1 << 20; bytes >= 4_096; bytes >>= 1) {
        for (let n = 0; ; n += 1) {
          try {
            writeFileSync(filler, Buffer.alloc(bytes), { flag: "a" });
          } catch {
            break; // Full for pieces of this size, which is the point.
          }
          if (n > 4 * megabytes) break;
        }
      }
    },
    free: () => rmSync(filler, { force: true }),
    unmount() {
      spawnSync("umount", ["-l", home]);
    },
  };
}
