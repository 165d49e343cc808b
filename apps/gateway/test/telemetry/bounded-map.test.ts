// What is remembered of traces under way, and what of it is forgotten first.
import { expect, test } from "vitest";
import { boundedMap } from "../../src/telemetry/bounded-map.ts";

test("two thousand are known; what was set longest ago goes first, and what is taken is known no more", () => {
  const known = boundedMap<number>();
  for (let n = 0; n < 2_000; n += 1) known.set(`k${n}`, n);
  expect([known.get("k0"), known.get("k1999")]).toEqual([0, 1_999]);
  // Set anew it is the newest; reading makes nothing newer.
  known.set("k0", 7);
  known.get("k1");
  known.set("more", 1);
  expect([known.get("k0"), known.get("k1"), known.get("k2")]).toEqual([7, undefined, 2]);
  expect([known.take("k2"), known.take("k2"), known.get("k2")]).toEqual([2, undefined, undefined]);
  known.set("again", 1);
  expect(known.get("k3")).toBe(3);
});
