// Whose presses count and how long, over the real store: what a button means waits in its cell.
import { silentLog, type Button, type Inbound } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { presses } from "../../src/inbound/presses.ts";
import { withShortValues } from "../../src/outbound/button-values.ts";
import { directMessage } from "./messages.ts";
import { memoryStore } from "./store.ts";

const clock = virtualClock();

async function shown(button: Button) {
  const store = await memoryStore(clock);
  const { parts, cells } = withShortValues([{ kind: "text", markdown: "?", buttons: [[button]] }]);
  for (const { key, value, ttlMs } of cells) if (value !== null) await store.cells.put(key, value, ttlMs === undefined ? {} : { ttlMs });
  const [part] = parts;
  const told = part?.kind === "text" ? part.buttons?.[0]?.[0] : undefined;
  const read = presses({ cells: store.cells, channel: () => null, clock, log: silentLog }).read;
  return { button: told, press: (value: string, by: string) => read(pressed(value, by)) };
}

function pressed(value: string, by: string): Inbound {
  return directMessage({ kind: "callback", text: value, callback: { id: "c", value }, sender: { id: by } });
}

test("a plain short value is itself", async () => {
  const { button, press } = await shown({ label: "Yes", value: "yes" });
  expect(button?.value).toBe("yes");
  expect(await press("yes", "1")).toMatchObject({ text: "yes" });
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
  const { button, press } = await shown({ label: "Tell", value: "tell", allowed: ["7"], form: [{ name: "name", label: "Your name" }] });
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
  expect(button?.choices?.map(({ value }) => value.length)).toEqual([23, 1]);
  expect(await press(button?.choices?.[0]?.value ?? "", "1")).toMatchObject({ text: long });
});
