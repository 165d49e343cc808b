// Which account a node leaves to another one.
import { expect, test } from "vitest";
import { oneTooMany } from "../src/rebalance.ts";
import type { NodeView } from "../src/node-registry.ts";

const line = (boot: string, leads: number, more: Partial<NodeView> = {}): NodeView => ({
  node: boot,
  boot,
  role: "edge",
  version: "0",
  pid: 1,
  url: "",
  startedAtMs: 0,
  state: "running",
  turns: 0,
  deliveries: 0,
  leads: Array.from({ length: leads }, (_, n) => `telegram:${boot}${n}`),
  up: true,
  silentMs: 0,
  ...more,
});
const mine = ["telegram:a", "telegram:b", "telegram:c"];

test.each<readonly [string, readonly NodeView[], string | null]>([
  ["nobody else", [line("me", 3)], null],
  ["another one with none", [line("me", 3), line("you", 0)], "telegram:c"],
  ["another one with one less", [line("me", 3), line("you", 2)], null],
  ["a third one with two less", [line("me", 3), line("you", 3), line("third", 1)], "telegram:c"],
  [
    "a worker, one that is gone, one that drains",
    [line("w", 0, { role: "worker" }), line("g", 0, { up: false }), line("d", 0, { state: "draining" })],
    null,
  ],
])("beside %s", (_what, lines, left) => {
  expect(oneTooMany(lines, "me", mine)).toBe(left);
});
