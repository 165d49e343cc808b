// One set-up at a time, over any number of processes, and no cleaning up by hand after a crash.
//
// The lock is a row of numbered files. The newest one names its holder; an empty newest file means "free". Whoever wants the lock creates the
// next number, which only one can do, and only after the newest holder has let go or died. The newest file is never deleted, so nobody can
// mistake a fresh holder for a dead one. A claim that finds a newer number beside it came too late: it withdraws and queues again.
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { SetupProblem } from "./problem.mjs";

const waitStepMs = 100;
/** Longer than any set-up over a slow line; past it something is wrong that waiting does not cure. */
const patienceMs = 15 * 60_000;

const sleep = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** A name for a process that a later process with the same number does not share (Linux); elsewhere the number alone. */
function holderName(pid) {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    // Field 22 of proc(5) stat is the start time; the name in field 2 may hold spaces, so count from its closing bracket.
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return `${pid} ${boot} ${stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]}`;
  } catch {
    // Not Linux, or no such process: `isAlive` tells these apart by asking for the process itself.
    return String(pid);
  }
}

function isAlive(holder) {
  const pid = Number(holder.split(" ")[0]);
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code !== "EPERM") return false;
  }
  return holderName(pid) === holder;
}

const numbersIn = (folder) =>
  readdirSync(folder)
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .sort((a, b) => a - b);

function newest(folder) {
  const number = numbersIn(folder).at(-1);
  if (number === undefined) return { number: 0, holder: "" };
  try {
    return { number, holder: readFileSync(path.join(folder, String(number)), "utf8") };
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    return newest(folder); // A late claim withdrew between the two looks.
  }
}

/** Creates file `number` with our name in it, both at once. False when another was quicker. */
function claim(folder, number) {
  const draft = path.join(folder, `draft-${process.pid}`);
  const file = path.join(folder, String(number));
  writeFileSync(draft, holderName(process.pid));
  try {
    linkSync(draft, file);
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    return false;
  } finally {
    rmSync(draft, { force: true });
  }
  const now = numbersIn(folder);
  if (now.at(-1) !== number) {
    rmSync(file);
    return false;
  }
  for (const older of now) if (older < number) rmSync(path.join(folder, String(older)), { force: true });
  return true;
}

/** Runs `work` alone among all that name the same `folder`. Waits for a living holder; a dead one is passed over at once. */
export function alone(folder, work) {
  mkdirSync(folder, { recursive: true });
  const untilMs = Date.now() + patienceMs;
  for (;;) {
    const { number, holder } = newest(folder);
    if ((holder === "" || !isAlive(holder)) && claim(folder, number + 1)) {
      try {
        return work();
      } finally {
        truncateSync(path.join(folder, String(number + 1)));
      }
    }
    if (Date.now() > untilMs) {
      throw new SetupProblem(
        `another set-up (process ${holder.split(" ")[0]}) has held ${folder} for too long. End it, then run this again.`,
      );
    }
    sleep(waitStepMs);
  }
}
