// Faults at exact system calls. strace makes itself the tracer in the background (-D), so the child that a
// test holds is the daemon itself. Without -f only the main thread is followed, which is where SQLite runs:
// the count is the same every time.
import { spawnSync } from "node:child_process";

/** Null when system calls can be broken here, else why not. */
export const whyNoStrace = ((): string | null => {
  const probe = spawnSync("strace", [
    "-qq",
    "-o",
    "/dev/null",
    "-e",
    "trace=fsync",
    "-e",
    "inject=fsync:error=EIO:when=1",
    "true",
  ]);
  if (probe.error !== undefined) return "strace is not installed";
  return probe.status === 0 ? null : "strace may not trace here";
})();

/** Every way in which SQLite asks for durability; Node's build uses fsync. */
const syncs = "fsync,fdatasync";

function inject(calls: string, fault: string): readonly string[] {
  return ["strace", "-D", "-qq", "-o", "/dev/null", "-e", `trace=${calls}`, "-e", `inject=${calls}:${fault}`];
}

/** The process dies entering its nth sync: what the sync was for is written, and nobody was told. */
export function diesAtSync(nth: number): readonly string[] {
  return inject(syncs, `signal=KILL:when=${nth}`);
}

/** The process dies entering its nth write to the database: the transaction is cut in two. */
export function diesAtWrite(nth: number): readonly string[] {
  return inject("pwrite64", `signal=KILL:when=${nth}`);
}

/** The nth sync fails as on a broken disk. */
export function failsAtSync(nth: number): readonly string[] {
  return inject(syncs, `error=EIO:when=${nth}`);
}
