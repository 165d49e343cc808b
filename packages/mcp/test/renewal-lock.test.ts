// One process of a gateway renews a login at a time: who waits, how long, and what becomes of a lock whose
// holder works long, fails or dies.
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { renewalLock, type LockCells } from "../src/oauth/renewal-lock.ts";

function world() {
  const clock = virtualClock();
  const kept = new Map<string, { readonly version: number; untilMs: number }>();
  const calls: unknown[] = [];
  let versions = 0;
  let isAway = false;
  const found = (key: string) => {
    const cell = kept.get(key);
    return cell === undefined || cell.untilMs <= clock.now() ? undefined : cell;
  };
  const cells: LockCells = {
    async put(key, _value, { expect: wanted, ttlMs = Infinity }) {
      if (wanted !== 0 || found(key) !== undefined) return null;
      versions += 1;
      kept.set(key, { version: versions, untilMs: clock.now() + ttlMs });
      return { version: versions };
    },
    async touch(key, version, ttlMs) {
      calls.push(["touch", key, version, ttlMs]);
      if (isAway) throw new Error("the store is away");
      const cell = found(key);
      if (cell?.version !== version) return false;
      cell.untilMs = clock.now() + ttlMs;
      return true;
    },
    async remove(key, version) {
      calls.push(["remove", key, version]);
      if (isAway) throw new Error("the store is away");
      return kept.get(key)?.version === version && kept.delete(key);
    },
  };
  const [here, there] = [renewalLock(cells, clock), renewalLock(cells, clock)];
  return { clock, here, there, calls, cells, away: () => (isAway = true) };
}

const slow = () => {
  let end = (): void => {};
  const work = new Promise<void>((resolve) => (end = resolve));
  return { work: () => work, end: () => end() };
};

test("a second process begins when the first has ended; another server's login waits for nobody", async () => {
  const { clock, here, there, calls } = world();
  const { work, end } = slow();
  const first = here("a", work);
  await clock.advance(1);
  const began: string[] = [];
  const second = there("a", async () => began.push("a"));
  const other = there("b", async () => began.push("b"));
  await clock.advance(50_000);
  expect(began).toEqual(["b"]);
  end();
  await clock.advance(200);
  await Promise.all([first, second, other]);
  expect(began).toEqual(["b", "a"]);
  expect(calls.filter((call) => String(call).startsWith("touch"))).toEqual(
    [1, 2, 3, 4, 5].map(() => ["touch", "mcp-renewal:a", 1, 30_000]),
  );
  expect(clock.armed()).toBe(0);
});

test("who has waited a minute is told, and the one who holds it goes on", async () => {
  const { clock, here, there } = world();
  const { work, end } = slow();
  const first = here("a", async () => {
    await work();
    return "renewed";
  });
  await clock.advance(1);
  const second = there("a", async () => "twice").catch((error: unknown) => error);
  let isTold = false;
  void second.then(() => (isTold = true));
  await clock.advance(60_000);
  expect(isTold).toBe(false);
  await clock.advance(200);
  expect(await second).toMatchObject({
    code: "unavailable",
    message: "its login is being renewed by another process of this gateway",
  });
  end();
  await clock.advance(1);
  expect(await first).toBe("renewed");
});

test("work that fails lets the next one begin, and its error is what is told", async () => {
  const { clock, here, there, calls } = world();
  await expect(
    here("a", async () => {
      throw new Error("refused");
    }),
  ).rejects.toThrow("refused");
  expect(calls).toEqual([["remove", "mcp-renewal:a", 1]]);
  expect(await there("a", async () => "now")).toBe("now");
  expect(clock.armed()).toBe(0);
});

test("the lock of a process that died ends half a minute later; a store that is away breaks no renewal", async () => {
  const { clock, here, there, cells, away } = world();
  await cells.put("mcp-renewal:a", "held", { expect: 0, ttlMs: 30_000 });
  let isDone = false;
  const second = there("a", async () => (isDone = true));
  await clock.advance(29_900);
  expect(isDone).toBe(false);
  await clock.advance(300);
  expect(await second).toBe(true);
  away();
  const { work, end } = slow();
  const third = here("c", async () => {
    await work();
    return "renewed";
  });
  await clock.advance(25_000);
  end();
  await clock.advance(1);
  expect(await third).toBe("renewed");
});
