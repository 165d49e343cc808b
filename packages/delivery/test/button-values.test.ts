// The cells behind buttons: what is written for each, for how long, and what is found again.
import type { Button, Part } from "@parley/protocol";
import { expect, test } from "vitest";
import { pressedValue, withShortValues } from "../src/button-values.ts";

const to = { channel: "telegram", account: "default", kind: "dm", peer: "1" } as const;
const short = (buttons: readonly (readonly Button[])[], id = "d") =>
  withShortValues([{ kind: "text", markdown: "?", buttons } as Part], { id, to });

test("a button keeps who may press it and until when, its choices too, for ninety days", async () => {
  const given: Button = {
    label: "Tea",
    value: "tea",
    allowed: ["7"],
    untilMs: 5_000,
    choices: [
      { label: "Green", value: "g" },
      { label: "Black", value: "b" },
    ],
  };
  const { parts, cells } = short([
    [given],
    [{ label: "Plain" }, { label: "Site", url: "https://x.example" }],
  ]);
  expect(cells).toHaveLength(4);
  expect(cells.map(({ ttlMs }) => ttlMs)).toEqual([1, 2, 3, 4].map(() => 7_776_000_000));
  const [part] = parts;
  const rows = part?.kind === "text" ? (part.buttons ?? []) : [];
  const [[button] = [], [plain, site] = []] = rows;
  expect(site).toEqual({ label: "Site", url: "https://x.example" });
  const values = [button?.value, ...(button?.choices ?? []).map(({ value }) => value), plain?.value];
  const stored = new Map(cells.map(({ key, value }) => [key, value]));
  const from = {
    get: async (key: string) => ({ value: stored.get(key) ?? "", version: 1 }),
  } as unknown as Parameters<typeof pressedValue>[0];
  const meant = await Promise.all(values.map((value) => pressedValue(from, value ?? "", to)));
  const rights = { chat: '["telegram","default","dm","1"]', allowed: ["7"], untilMs: 5_000 };
  expect(meant).toEqual([
    { ...rights, value: "tea" },
    { ...rights, value: "g" },
    { ...rights, value: "b" },
    { chat: rights.chat, value: "Plain" },
  ]);
  for (const value of values) expect(value).toMatch(/^~[\w-]{22}$/);
});

test("buttons that differ in anything have names of their own; the same button of one message has one", () => {
  const keys = (button: Button, id?: string) => short([[button]], id).cells.map(({ key }) => key)[0];
  const one = { label: "Yes", value: "yes" };
  const others = [
    { ...one, untilMs: 1 },
    { ...one, allowed: [] },
    { ...one, value: "no" },
  ];
  expect(new Set([one, ...others].map((each) => keys(each))).size).toBe(4);
  expect(keys({ ...one, label: "Another" })).toBe(keys(one));
  expect(keys(one, "e")).not.toBe(keys(one));
});
