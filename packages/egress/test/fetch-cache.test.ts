// The cache's three limits: time, entries, characters.
import { virtualClock } from "@parley/testkit";
import { describe, expect, it } from "vitest";
import { fetchCache } from "../src/fetch-cache.ts";

describe("the cache of pages", () => {
  const filled = () => {
    const clock = virtualClock();
    return { clock, cache: fetchCache<string>(clock, { keptMs: 1_000, entries: 3, chars: 100 }) };
  };
  const keys = "abcdef".split("");

  it("keeps the newest entries", () => {
    const { cache } = filled();
    for (const key of keys) cache.put(key, key, 1);
    expect(keys.map((key) => cache.get(key))).toEqual([null, null, null, "d", "e", "f"]);
  });

  it("keeps the newest characters", () => {
    const { cache } = filled();
    cache.put("a", "a", 60);
    cache.put("b", "b", 40);
    expect(cache.get("a")).toBe("a");
    cache.put("c", "c", 1);
    expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual([null, "b", "c"]);
    cache.put("d", "d", 101);
    expect([cache.get("b"), cache.get("d")]).toEqual(["b", null]);
  });

  it("counts what is replaced once", () => {
    const { cache } = filled();
    for (let i = 0; i < 10; i += 1) cache.put("a", `${i}`, 50);
    cache.put("b", "b", 50);
    expect([cache.get("a"), cache.get("b")]).toEqual(["9", "b"]);
  });

  it("forgets in time, whatever the wall clock says", async () => {
    const { cache, clock } = filled();
    cache.put("a", "a", 1);
    clock.jumpWall(-1_000_000);
    await clock.advance(999);
    expect(cache.get("a")).toBe("a");
    await clock.advance(1);
    expect(cache.get("a")).toBe(null);
  });
});
