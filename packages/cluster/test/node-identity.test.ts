// Where a process stands: one to a place, by number or by name, and what the next one in its place learns of
// it.
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { roleOf, takePlace, type NodePlace } from "../src/node-identity.ts";

let home: string;
const place = (name?: string, shared = true): NodePlace => {
  const taken = takePlace({ home, pid: process.pid, name, shared });
  onTestFinished(taken.release);
  return taken;
};
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "parley-places-"));
  return () => rmSync(home, { recursive: true });
});

test("processes of one home are numbered from the second on; a place that is left is the next one's", () => {
  const [first, second, third] = [place(), place(), place()];
  expect([first.name, second.name, third.name]).toEqual([hostname(), `${hostname()}-2`, `${hostname()}-3`]);
  second.release();
  expect(place().name).toBe(`${hostname()}-2`);
});

test("a home that is not shared has one place, whatever the name", () => {
  const first = place("mine", false);
  expect(first.name).toBe(hostname());
  expect(() => place("other", false)).toThrow(/conflict|runs|another/i);
});

test("a name has one place, beside the numbered ones", () => {
  expect(place("mine").name).toBe("mine");
  expect(() => place("mine")).toThrow();
  expect(place().name).toBe(hostname());
});

test.each(["", "a b", "../x", "x".repeat(64), "ä"])("no node is called %j", (name) => {
  expect(() => place(name)).toThrow("up to 63 letters");
});

test("the next in a place learns which boot stood there, and only there", () => {
  const first = place("mine");
  expect(first.deadBoot).toBeNull();
  first.settle("boot-1");
  first.release();
  const next = place("mine");
  expect(next.deadBoot).toBe("boot-1");
  expect(place("other").deadBoot).toBeNull();
  next.settle("boot-2");
  next.release();
  expect(place("mine").deadBoot).toBe("boot-2");
});

test("what a crash left half written names no boot", () => {
  mkdirSync(join(home, "daemon.boot"));
  expect(place().deadBoot).toBeNull();
});

test.each(["all", "edge", "worker"] as const)("the role %s is one", (role) => {
  expect(roleOf(role)).toBe(role);
});

test("another role is refused with those that there are; none means all", () => {
  expect(roleOf(undefined)).toBe("all");
  expect(() => roleOf("boss")).toThrow('--role "boss": write all, edge, worker');
});

test("a boot of another host, or without one, is not proven dead; the note of who stands there is the owner's alone", () => {
  const file = join(home, "daemon.boot");
  for (const [before, dead] of [
    [{ boot: "boot-1", host: hostname() }, "boot-1"],
    [{ boot: "boot-1", host: `${hostname()}-elsewhere` }, null],
    [{ boot: "boot-1" }, null],
    [{ boot: 1, host: hostname() }, null],
  ] as const) {
    writeFileSync(file, JSON.stringify(before));
    const taken = place();
    expect(taken.deadBoot).toBe(dead);
    taken.release();
  }
  rmSync(file);
  const taken = place();
  taken.settle("boot-2");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(() => place("a".repeat(63))).not.toThrow();
});
