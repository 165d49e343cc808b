// Takes one update from its begin to its end: prepare, back up, check, swap, restart, watch, and go back by
// itself when the new version does not do. The record is written before each step, so `resume` goes on after
// a crash at any of them: what had not come into force is given up, what had is watched or taken back.
import { Fault, sleep } from "@parley/protocol";
import { hasEnded, type UpdateRecord } from "./update-record.ts";
import type { GatewayNow, UpdateWorld } from "./update-world.ts";

const lookEveryMs = 200;
/** Longer than a drain and a set-up take. */
const upWithinMs = 180_000;
/** A service manager starts a gateway again sooner. */
const goneForMs = 10_000;

/** Resolves with the record of an update that ended. Throws only for what is no matter of the update. */
export async function runUpdate(record: UpdateRecord, world: UpdateWorld): Promise<UpdateRecord> {
  const update = stepsOf(record, world);
  try {
    await update.prepare();
  } catch (error) {
    return update.fail(error);
  }
  return update.swap();
}

/** Goes on with an update whose process died. */
export async function resumeUpdate(record: UpdateRecord, world: UpdateWorld): Promise<UpdateRecord> {
  if (hasEnded(record)) return record;
  // What the new version did meanwhile, nobody has seen.
  const worked = record.state === "trying" ? null : record.worked;
  const update = stepsOf({ ...record, worked, driver: process.pid }, world);
  if (record.state === "going-back" || record.state === "swapping") await world.inForce.settle?.(record);
  if (record.state === "going-back") return update.goBack(record.reason ?? "it was to go back");
  if (record.state === "preparing" || (record.state === "swapping" && world.inForce.now() === record.fromRef))
    return update.fail(new Fault("aborted", "it was interrupted before anything was changed"));
  return record.state === "swapping" ? update.tryOut() : update.goOn();
}

function stepsOf(begun: UpdateRecord, { gateway, inForce, programs, clock, say, ...world }: UpdateWorld) {
  let record = begun;
  const put = (changes: Partial<UpdateRecord>): void => {
    record = { ...record, ...changes };
    world.write(record);
  };
  const ended = (state: "done" | "went-back" | "failed", reason: string | null): UpdateRecord => {
    put({ state, reason, endedAtMs: clock.now() });
    inForce.end(record);
    return record;
  };
  const { to, from, toRef, fromRef } = record;
  /** Starts of before the swap that were told to end. */
  const told = new Set<string>();

  async function prepare(): Promise<void> {
    put({ state: "preparing" });
    await inForce.prepare(record);
    const found = await gateway.now();
    if (found === "silent")
      throw new Fault("unavailable", "the gateway runs and does not answer: end it first");
    if (found !== null) {
      put({
        before: { bootId: found.bootId, state: found.state, up: [...found.up], reasons: [...found.reasons] },
      });
      await remember();
    }
    say("Backing up ...");
    put({ backup: await world.backUp(record) });
    if (!inForce.checkedAfterSwap) await check();
  }

  /** By the new version's own program, on a copy. */
  async function check(): Promise<void> {
    say(`Looking whether ${to} would start ...`);
    const config = await programs.configTrouble(toRef);
    if (config !== null) throw new Fault("invalid", `${to} would not start with this config: ${config}`);
    // What a restore brings is not what the backup has.
    if (record.backup === null || record.restore !== null) return;
    const database = await programs.rehearsal(toRef, record.backup);
    if (database !== null) throw new Fault("unsupported", `${to} cannot take the database over: ${database}`);
  }

  const fail = (error: unknown): UpdateRecord => ended("failed", wordsOf(error));

  async function swap(): Promise<UpdateRecord> {
    put({ state: "swapping" });
    try {
      inForce.begin(record);
      await inForce.swapTo(toRef);
    } catch (error) {
      if (inForce.now() === fromRef) return fail(error);
      return goBack(wordsOf(error));
    }
    return tryOut();
  }

  async function tryOut(): Promise<UpdateRecord> {
    if (inForce.checkedAfterSwap) {
      try {
        await check();
      } catch (error) {
        return goBack(wordsOf(error));
      }
    }
    put({ state: "trying", worked: false });
    return goOn();
  }

  async function goOn(): Promise<UpdateRecord> {
    const found = await gateway.now();
    if (found === null && isToRest()) {
      // Nobody runs it: its next start is the trial.
      await restoreForNew();
      say(`${to} is in force; the gateway was not running, and its next start is watched.`);
      return record;
    }
    let trouble: string | null;
    try {
      if (record.restore !== null) {
        await stop();
        await restoreForNew();
        await gateway.start(record.ran);
      } else if (found === null) await gateway.start(record.ran);
      // Also one that was killed and started again before the swap: it is another than was found.
      else if (found !== "silent" && (isBefore(found) || found.version !== toRef)) await restart(found);
      trouble = await watch();
    } catch (error) {
      trouble = wordsOf(error);
    }
    const now = world.read();
    if (now !== null && now.id === record.id && hasEnded(now)) return now;
    if (trouble !== null) return goBack(trouble);
    say(`${to} is well.`);
    return ended("done", null);
  }

  /** Before it is told to end: who goes on after a kill must know that one ran, and how. */
  async function remember(): Promise<void> {
    const ran = await gateway.ranAs();
    if (ran === null) return;
    await world.aloneWithDatabase(async () => {
      takeUp();
      // A service manager that does not answer just now runs it all the same.
      put({ ran: { ...ran, service: ran.service ?? record.ran?.service ?? null } });
    });
  }

  async function stop(): Promise<void> {
    await remember();
    await gateway.stop();
  }

  /** None ran, and this update ended none. */
  const isToRest = (): boolean => record.before === null && record.ran === undefined;

  function isBefore(found: GatewayNow | "silent" | null): boolean {
    return found !== null && found !== "silent" && found.bootId === record.before?.bootId;
  }

  async function restart({ bootId }: GatewayNow): Promise<void> {
    told.add(bootId);
    say("Restarting: what runs may end first ...");
    await remember();
    await gateway.restart();
  }

  /** A service manager starts the gateway as soon as it ended, and that start did a part of this. */
  function takeUp(): void {
    const now = world.read();
    if (now === null || now.id !== record.id) return;
    const { state, reason, restore, replaced, kept, endedAtMs } = now;
    // Not `worked`: what the new version did while no process updated, nobody has seen.
    record = { ...record, state, reason, restore, replaced, kept, endedAtMs };
  }

  function restoreForNew(): Promise<void> {
    return world.aloneWithDatabase(async () => {
      takeUp();
      if (record.state === "trying") await restoreIfAsked(toRef);
    });
  }

  async function restoreIfAsked(ref: string): Promise<void> {
    if (record.restore === null) return;
    const isBack = record.state === "going-back";
    const before = await programs.restore(ref, record.restore, isBack && record.worked === false);
    put({ restore: null, ...(isBack ? { kept: before } : { replaced: before }) });
  }

  /** Null when the new version did well for the whole time. */
  async function watch(): Promise<string | null> {
    const begunMono = clock.mono();
    let heardMono = begunMono;
    let readyMono: number | null = null;
    let boot: string | null = null;
    let last: GatewayNow | null = null;
    for (;;) {
      if (inForce.now() === fromRef) return "it went back at its start";
      const found = await gateway.now();
      const nowMono = clock.mono();
      if (found !== null && found !== "silent") {
        heardMono = nowMono;
        const isOld = isBefore(found) || told.has(found.bootId);
        // Its start began before the swap, and it listens only now.
        if (!isOld && found.version === fromRef) await restart(found);
        else if (!isOld) {
          if (boot !== null && boot !== found.bootId) return "it ended, and was started again";
          boot = found.bootId;
          if (found.state === "safe-mode") return "it came up in safe mode";
          if (found.state !== "starting" && found.state !== "draining") {
            if (record.worked !== true) put({ worked: true });
            if (readyMono === null)
              say(`${found.version} is up; watching it for ${Math.ceil(record.watchMs / 1000)} s ...`);
            readyMono ??= nowMono;
            last = found;
          }
        }
      } else if (found === null && readyMono === null && (await gateway.isThere())) {
        // It starts: a slow machine, or a change of schema in a large database, takes its time.
        heardMono = nowMono;
      } else if (nowMono - heardMono > goneForMs + (found === "silent" ? 20_000 : 0))
        return found === "silent" ? "it does not answer" : "it did not stay up";
      if (readyMono === null && nowMono - begunMono > upWithinMs) return "it did not come up in time";
      if (readyMono !== null && nowMono - readyMono >= record.watchMs && last !== null) {
        const page = await gateway.pageTrouble();
        return page === null ? worse(last) : `its page cannot be opened: ${page}`;
      }
      await sleep(clock, lookEveryMs);
    }
  }

  /** What was in trouble before is not held against the new version. */
  function worse(found: GatewayNow): string | null {
    const { before } = record;
    const down = (before?.up ?? []).filter((account) => !found.up.includes(account));
    if (down.length > 0) return `${down.join(", ")} heard before, and does not now`;
    if (found.state === "ok" || (before !== null && before.state !== "ok")) return null;
    return `it is ${found.state}: ${found.reasons.join("; ")}`;
  }

  async function goBack(reason: string): Promise<UpdateRecord> {
    say(`${to} does not do: ${reason}. Going back to ${from} ...`);
    put({ state: "going-back", reason });
    await inForce.swapTo(fromRef);
    const found = await gateway.now();
    if (isBefore(found)) return ended("went-back", reason);
    if (found === null && isToRest()) {
      await bringDatabaseBack();
      return ended("went-back", reason);
    }
    await stop();
    await bringDatabaseBack();
    await gateway.start(record.ran);
    const up = await upAgain();
    return ended(
      "went-back",
      up ? reason : `${reason}; and ${from} did not come up again: look at \`parley logs\``,
    );
  }

  /** Never half: the whole database of before, or the one that is there. */
  function bringDatabaseBack(): Promise<void> {
    return world.aloneWithDatabase(async () => {
      takeUp();
      if (hasEnded(record)) return;
      if (record.restore === null) {
        if (record.replaced !== null) put({ restore: record.replaced, replaced: null });
        else if (await programs.refusesDatabase(fromRef)) {
          const copy = world.schemaCopy(record.begunAtMs) ?? record.backup;
          if (copy === null) throw new Fault("missing", "there is no copy of the database from before");
          put({ restore: copy });
        }
      }
      await restoreIfAsked(fromRef);
    });
  }

  async function upAgain(): Promise<boolean> {
    const begunMono = clock.mono();
    while (clock.mono() - begunMono < upWithinMs) {
      const found = await gateway.now();
      if (found !== null && found !== "silent" && found.state !== "starting") return true;
      await sleep(clock, lookEveryMs);
    }
    return false;
  }

  return { prepare, swap, tryOut, goOn, goBack, fail };
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
