// Whose presses count and how long, over the real store: what a button means waits in its cell.
import { silentLog, type Button, type Inbound } from "@parley/protocol";
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
