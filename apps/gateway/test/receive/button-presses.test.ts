// Whose presses count and how long, over the real store: what a button means waits in its cell.
import { silentLog, type Action, type Button, type Inbound } from "@parley/protocol";
import { virtualClock, directMessage } from "@parley/testkit";
import { expect, test } from "vitest";
import { buttonPresses } from "../../src/receive/button-presses.ts";
import { withShortValues } from "@parley/delivery";
import { memoryStore } from "./store.ts";

const clock = virtualClock();

const chat = directMessage({}).address;

async function shown(button: Button, more: { readonly commands?: true } = {}) {
  const store = await memoryStore(clock);
  const { parts, cells } = withShortValues([{ kind: "text", markdown: "?", buttons: [[button]] }], {
    id: "d",
    to: chat,
    ...more,
  });
  for (const { key, value, ttlMs } of cells)
    if (value !== null) await store.cells.put(key, value, ttlMs === undefined ? {} : { ttlMs });
  const [part] = parts;
  const told = part?.kind === "text" ? part.buttons?.[0]?.[0] : undefined;
  const read = buttonPresses({ cells: store.cells, channel: () => null, clock, log: silentLog }).read;
  const press = async (value: string, by: string, over: Partial<Inbound> = {}) => {
    const meant = await read({ ...pressed(value, by), ...over });
    return "inbound" in meant ? { ...meant.inbound, commands: meant.commands } : meant;
  };
  return { button: told, press };
}

function pressed(value: string, by: string): Inbound {
  return directMessage({
    kind: "callback",
    text: value,
    callback: { id: "c", value },
    sender: { id: by },
    address: chat,
  });
}

const foreign = { unwanted: "This button is no longer in use." };

test("a value that Parley did not put there is refused, whatever it says", async () => {
  const { button, press } = await shown({ label: "Yes", value: "yes" });
  expect(button?.value).toMatch(/^~/);
  expect(await press(button?.value ?? "", "1")).toMatchObject({ text: "yes", commands: false });
  for (const value of ["yes", "/stop", "/approve 1 once", "", "~", `x${button?.value}`])
    expect(await press(value, "1")).toEqual(foreign);
});

test("a button counts in its own chat alone, and two messages share none", async () => {
  const { button, press } = await shown({ label: "Yes", value: "yes" });
  expect(await press(button?.value ?? "", "1", { address: { ...chat, peer: "2" } })).toEqual(foreign);
  expect(await press(button?.value ?? "", "1", { address: { ...chat, thread: "7" } })).toMatchObject({
    text: "yes",
  });
  const name = (id: string) =>
    withShortValues([{ kind: "text", markdown: "?", buttons: [[{ label: "Yes" }]] }], { id, to: chat })
      .cells[0]?.key;
  expect(name("a")).not.toBe(name("b"));
});

test("only a button that Parley wrote itself is a command, and not with words added to it", async () => {
  const mine = await shown({ label: "Once", value: "/approve 1 once" }, { commands: true });
  expect(await mine.press(mine.button?.value ?? "", "1")).toMatchObject({
    text: "/approve 1 once",
    commands: true,
  });
  expect(await mine.press(`${mine.button?.value}\nmore: x`, "1")).toMatchObject({ commands: false });
  const agents = await shown({ label: "More", value: "/approve 1 once" });
  expect(await agents.press(agents.button?.value ?? "", "1")).toMatchObject({
    text: "/approve 1 once",
    commands: false,
  });
});

test("a button for some is refused to others, and its value is not to be guessed from it", async () => {
  const { button, press } = await shown({ label: "Yes", value: "yes", allowed: ["7"] });
  expect(button?.value).toMatch(/^~/);
  expect(await press(button?.value ?? "", "7")).toMatchObject({ text: "yes", callback: { value: "yes" } });
  expect(await press(button?.value ?? "", "77")).toEqual({ unwanted: "This button is not for you." });
});

test("a button that ended is too old, as is one whose cell is gone", async () => {
  const { button, press } = await shown({ label: "Yes", value: "yes", untilMs: clock.now() + 1_000 });
  expect(await press(button?.value ?? "", "1")).toMatchObject({ text: "yes" });
  await clock.advance(1_000);
  expect(await press(button?.value ?? "", "1")).toEqual({ unwanted: "This button is too old." });
  expect(await press(`~${"x".repeat(22)}`, "1")).toEqual({ unwanted: "This button is too old." });
});

test("what a form adds stands in lines under the value", async () => {
  const { button, press } = await shown({
    label: "Tell",
    value: "tell",
    allowed: ["7"],
    form: [{ name: "name", label: "Your name" }],
  });
  expect(await press(`${button?.value}\nname: Ann`, "7")).toMatchObject({ text: "tell\nname: Ann" });
});

test("each choice of a menu has its own value", async () => {
  const long = "x".repeat(200);
  const { button, press } = await shown({
    label: "Which?",
    choices: [
      { label: "A", value: long },
      { label: "B", value: "b" },
    ],
  });
  expect(button?.choices?.map(({ value }) => value.length)).toEqual([23, 23]);
  expect(await press(button?.choices?.[0]?.value ?? "", "1")).toMatchObject({ text: long });
});

test("whoever pressed is told why a press does not count, and of the first one only that it came", async () => {
  const store = await memoryStore(clock);
  const { parts, cells } = withShortValues(
    [{ kind: "text", markdown: "?", buttons: [[{ label: "Yes", value: "yes", allowed: ["1", "2"] }]] }],
    { id: "d", to: chat },
  );
  for (const { key, value } of cells) if (value !== null) await store.cells.put(key, value, {});
  const [part] = parts;
  const value = (part?.kind === "text" ? part.buttons?.[0]?.[0]?.value : undefined) ?? "";
  const told: (readonly [Action, string])[] = [];
  const presses = buttonPresses({
    cells: store.cells,
    channel: (account) =>
      account === "telegram:default"
        ? ({
            act: async (_to: unknown, action: Action, { idempotencyKey }: { idempotencyKey: string }) => (
              told.push([action, idempotencyKey]),
              null
            ),
          } as never)
        : null,
    clock,
    log: silentLog,
  });
  const press = (id: string, by: string, more: Partial<Inbound> = {}): Inbound => ({
    ...pressed(value, by),
    id,
    callback: { id: `callback-${id}`, value },
    replyTo: { messageId: "m1" } as never,
    ...more,
  });
  const [first, second, stranger] = [press("p1", "1"), press("p2", "2"), press("p3", "3")];
  expect([await presses.claim(first), await presses.claim(second), await presses.claim(first)]).toEqual([
    true,
    false,
    true,
  ]);
  const elsewhere = press("p4", "1", { replyTo: { messageId: "m2" } as never });
  expect(await presses.claim(elsewhere)).toBe(true);
  const unknown = press("p5", "1", { callback: { id: "callback-p5", value: "yes" } });
  await presses.acknowledge([
    first,
    second,
    stranger,
    elsewhere,
    unknown,
    press("p6", "1", { kind: "message" }),
    press("p7", "1", { account: "work" }),
  ]);
  const answer = (id: string, text?: string) => [
    { kind: "answerCallback", callbackId: `callback-${id}`, ...(text === undefined ? {} : { text }) },
    id,
  ];
  expect(told.toSorted(([, a], [, b]) => (a < b ? -1 : 1))).toEqual([
    answer("p1"),
    answer("p2", "This was already pressed."),
    answer("p3", "This button is not for you."),
    answer("p4"),
    answer("p5", "This button is no longer in use."),
  ]);
  expect(clock.armed()).toBe(0);
  await store.close();
});

test("a press is claimed for ninety days; a platform that does not take the answer is given ten seconds and a line in the log", async () => {
  const store = await memoryStore(clock);
  const puts: unknown[] = [];
  const logged: unknown[] = [];
  let answers = (_signal: AbortSignal): Promise<null> => Promise.reject(new Error("it is down"));
  const presses = buttonPresses({
    cells: {
      get: (key) => store.cells.get(key),
      put: (key, value, how) => (puts.push([key, value, how]), store.cells.put(key, value, how)),
    },
    channel: () =>
      ({
        act: (_to: unknown, _action: unknown, { signal }: { signal: AbortSignal }) => answers(signal),
      }) as never,
    clock,
    log: { ...silentLog, debug: (...line: readonly unknown[]) => void logged.push(line) } as never,
  });
  const press = (id: string): Inbound => ({
    ...pressed("~x", "1"),
    id,
    replyTo: { messageId: "m1" } as never,
  });
  await presses.claim(press("p1"));
  expect(puts).toEqual([
    [
      expect.stringMatching(/^press:telegram:default:dm:5:m1:[\w-]{22}$/),
      "p1",
      { expect: 0, ttlMs: 7_776_000_000 },
    ],
  ]);
  await presses.acknowledge([press("p1")]);
  answers = (signal) =>
    new Promise((_done, fail) => signal.addEventListener("abort", () => fail(signal.reason as Error)));
  const slow = presses.acknowledge([press("p2")]);
  await clock.advance(9_999);
  expect(logged).toHaveLength(1);
  await clock.advance(1);
  await slow;
  expect(logged).toEqual([
    [{ id: "p1", error: new Error("it is down") }, "a press could not be acknowledged"],
    [{ id: "p2", error: expect.any(Error) }, "a press could not be acknowledged"],
  ]);
  expect(clock.armed()).toBe(0);
  await store.close();
});
