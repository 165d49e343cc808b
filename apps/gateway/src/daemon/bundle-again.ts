// Lets a checkout whose sources changed, by a pull or an edit, bundle its programs again once this daemon has
// nothing to do, so that the next start gets the fast path. No start waits for it: this one runs the
// sources. The set-up makes it, which has a lock of its own, trusts nothing that is half done, and skips
// what stands; it may outlive the daemon.
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import type { Clock } from "@parley/protocol";

/** A daemon that has just become ready warms up, and somebody may wait for it. */
const lookEveryMs = 15_000;
/** Of one core: a chat in use costs more. */
const idleShare = 0.1;

export interface BundleAgainOptions {
  /** This program's entry. */
  readonly program: string;
  /** `bin/parley` of the checkout that started it; absent where no checkout did. */
  readonly launcher: string | undefined;
  readonly clock: Pick<Clock, "mono" | "after">;
  readonly cpuMs?: () => number;
  readonly setUp?: (root: string) => void;
}

/** Does nothing for a daemon that runs bundled. Its timer keeps no process alive for long: a stop exits. */
export function bundleAgain(options: BundleAgainOptions): void {
  const { program, launcher, clock, cpuMs = ownCpuMs, setUp = setUpQuietly } = options;
  if (launcher === undefined || !program.endsWith(".ts")) return;
  const root = dirname(dirname(launcher));
  const look = (sinceMono: number, usedMs: number): void => {
    clock.after(lookEveryMs, () => {
      const [now, used] = [clock.mono(), cpuMs()];
      if (used - usedMs < (now - sinceMono) * idleShare) setUp(root);
      else look(now, used);
    });
  };
  look(clock.mono(), cpuMs());
}

function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Where it fails, or this user may not write there, the sources go on serving. */
function setUpQuietly(root: string): void {
  const script = join(root, "scripts/dev.mjs");
  const child = spawn("nice", ["-n", "19", process.execPath, script, "install"], {
    cwd: root,
    detached: true,
    stdio: "ignore",
  });
  child.on("error", () => {}).unref();
}
