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

test("a press means what its button meant in its chat alone: a command, words, and the lines of a form", async () => {
  const form = [{ name: "a", label: "A?" }];
  const rows: readonly (readonly Button[])[] = [
    [{ label: "Yes", value: "/yes 1", form }],
    [{ label: "/no" }],
  ];
  const parts: readonly Part[] = [
    { kind: "voice", file: { path: "v", mediaType: "audio/ogg", bytes: 1, name: "v" } },
    { kind: "card", title: "T", markdown: "m", buttons: rows },
    { kind: "text", markdown: "no buttons" },
  ];
  const topic = { ...to, thread: "5" };
  const [asked, said] = [
    withShortValues(parts, { id: "d", to: topic, commands: true }),
    withShortValues(parts, { id: "e", to }),
  ];
  expect([asked.parts[0], asked.parts[2]]).toEqual([parts[0], parts[2]]);
  const stored = new Map([...asked.cells, ...said.cells].map(({ key, value }) => [key, value]));
  const asking: string[] = [];
  const cells = {
    get: async (key: string) => {
      asking.push(key);
      const value = stored.get(key);
      return value === undefined ? null : { value, version: 1 };
    },
  } as unknown as Parameters<typeof pressedValue>[0];
  const names = [asked, said].flatMap(({ parts: [, card] }) =>
    card?.kind === "card" ? card.buttons.flat().map(({ value = "" }) => value) : [],
  );
  expect(names).toHaveLength(4);
  const [opens = "", command = "", words = "", plain = ""] = names;
  const chat = '["telegram","default","dm","1"]';
  const press = (value: string, at: object = {}) => pressedValue(cells, value, { ...to, ...at });
  expect([
    await press(opens),
    await press(`${opens}\nfirst line\nsecond`, { thread: "6" }),
    await press(command),
    await press(`${command}\nadded`),
    await press(`${words}\nadded`),
    await press(plain, { thread: "5" }),
  ]).toEqual([
    { chat, value: "/yes 1", commands: true },
    { chat, value: "/yes 1\nfirst line\nsecond", commands: true },
    { chat, value: "/no", commands: true },
    { chat, value: "/no\nadded" },
    { chat, value: "/yes 1\nadded" },
    { chat, value: "/no" },
  ]);
  expect(asking[0]).toBe(`button:${opens}`);
  asking.length = 0;
  expect([
    await press(opens, { peer: "2" }),
    await press(opens, { account: "second" }),
    await press(opens, { kind: "group" }),
    await press(opens, { channel: "discord" }),
    await press(`~${"x".repeat(22)}`),
  ]).toEqual(["foreign", "foreign", "foreign", "foreign", "gone"]);
  expect(asking).toHaveLength(5);
  // What has no such name is not looked up.
  const odd = ["", opens.slice(1), `${opens}x`, opens.slice(0, 22), ` ${opens}`, `~${"!".repeat(22)}`];
  expect(await Promise.all(odd.map((value) => press(value)))).toEqual(odd.map(() => "foreign"));
  expect(asking).toHaveLength(5);
});
