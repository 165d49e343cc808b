// A daemon that runs from a checkout's sources has them bundled again while it has nothing to do.
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { bundleAgain } from "../src/daemon/bundle-again.ts";

function daemon(how: { readonly program?: string; readonly launcher?: string | undefined } = {}) {
  const clock = virtualClock();
  const setUps: string[] = [];
  let used = 0;
  bundleAgain({
    program: "/opt/parley/apps/gateway/src/main.ts",
    launcher: "/opt/parley/bin/parley",
    ...how,
    clock,
    cpuMs: () => used,
    setUp: (root) => void setUps.push(root),
  });
  return {
    setUps,
    async pass(cpuMs: number): Promise<void> {
      used += cpuMs;
      await clock.advance(15_000);
    },
  };
}

test("a daemon that runs the sources has its checkout bundled once it has nothing to do, and once only", async () => {
  const { setUps, pass } = daemon();
  await pass(9_000);
  await pass(2_000);
  expect(setUps).toEqual([]);
  await pass(100);
  await pass(100);
  expect(setUps).toEqual(["/opt/parley"]);
});

test.each([
  ["bundled programs", { program: "/opt/parley/.toolchain/gateway/src/main.js" }],
  ["sources that no checkout started", { launcher: undefined }],
])("a daemon that runs %s leaves the bundle alone", async (_, how) => {
  const { setUps, pass } = daemon(how);
  await pass(0);
  await pass(0);
  expect(setUps).toEqual([]);
});
