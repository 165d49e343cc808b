// A command that needs a person's word, over the wire: buttons in a chat, a kill while the turn waits, the press after the restart.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { MethodResult } from "@parley/protocol";
import type { ModelAnswer, ModelCall, VisibleMessage } from "@parley/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { controlClient } from "./control-client.ts";
import { cleanUp, eventually, freshHome } from "./daemon.ts";
import { world, type World } from "./world.ts";

let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  await cleanUp();
  expect(w.telegram.violations()).toEqual([]);
  await w.close();
});

const owner = 4242;
const config = { commands: { ownerAllowFrom: [`telegram:${owner}`] } };
/** Adds a line each time that it runs. */
const command = "echo ran >> runs.txt";

function asks({ lastToolResult, lastUserText }: ModelCall): ModelAnswer {
  if (lastUserText.includes("do it") && lastToolResult === null) return { toolCalls: [{ name: "exec", args: { command } }] };
  return `so: ${lastToolResult ?? lastUserText}`;
}

async function card(chat = owner): Promise<VisibleMessage> {
  return eventually(() => w.answers(chat).find(({ buttons }) => buttons.length > 0), 10_000, "the card");
}

/** What the button of this label hands back. */
function valueOf(label: RegExp): string {
  for (const { params } of w.telegram.calls("sendMessage").toReversed()) {
    const { reply_markup: given } = params as { readonly reply_markup?: unknown };
    const markup = (typeof given === "string" ? JSON.parse(given) : given) as
      | { readonly inline_keyboard: readonly (readonly { readonly text: string; readonly callback_data: string }[])[] }
      | undefined;
    const found = markup?.inline_keyboard.flat().find(({ text }) => label.test(text));
    if (found !== undefined) return found.callback_data;
  }
  throw new Error(`there is no button ${String(label)}`);
}

async function runs(home: string): Promise<number> {
  const path = join(home, "workspace", "runs.txt");
  return existsSync(path) ? (await readFile(path, "utf8")).split("\n").length - 1 : 0;
}

describe("a command behind a button", () => {
  test("survives kill -9 while it waits: pressed after the restart it runs once, and the answer arrives once", async () => {
    w.models.reply(asks);
    const home = await freshHome();
    const daemon = await w.start({ home, config });
    const me = w.telegram.as(owner);
    me.says("do it");
    const asked = await card();
    expect(asked.text).toContain(command);
    expect(asked.text).toContain(join(home, "workspace"));
    expect(asked.buttons.flat().join(" ")).toMatch(/Once.*Deny/);
    // A shell's line means something else each time: it cannot be allowed for good.
    expect(asked.buttons.flat().join(" ")).not.toMatch(/Always/);
    expect(await runs(home)).toBe(0);
    daemon.kill("SIGKILL");
    await daemon.exited;

    await w.start({ home, config });
    me.presses(asked.id, valueOf(/Once/));
    await eventually(async () => (await runs(home)) === 1, 10_000, "the run");
    await eventually(() => w.answers(owner).some(({ text }) => text.startsWith("so: ")), 10_000, "the answer");
    await eventually(
      () => w.answers(owner).find(({ text }) => text.startsWith("✅ Allowed once by telegram:4242")),
      10_000,
      "the settled card",
    );
    expect(w.answers(owner).flatMap(({ buttons }) => buttons)).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(await runs(home)).toBe(1);
    expect(w.answers(owner).filter(({ text }) => text.startsWith("so: "))).toHaveLength(1);
    expect(w.models.requests()).toHaveLength(2);
  });

  test("is decided over the command line too; always is remembered for exactly these words", async () => {
    w.models.reply(({ lastToolResult, lastUserText }) =>
      lastUserText.includes("do it") && lastToolResult === null
        ? { toolCalls: [{ name: "exec", args: { command: ["mkdir", "-p", "made"] } }] }
        : "done",
    );
    const home = await freshHome();
    const daemon = await w.start({ home, config });
    w.telegram.as(owner).says("do it");
    await card();
    const control = await controlClient(daemon);
    const { approvals } = (await control.call("approvals.list")) as MethodResult<"approvals.list">;
    expect(approvals).toMatchObject([{ state: "open", always: true, askedBy: [`telegram:${owner}`] }]);
    const [first] = approvals;
    await control.call("approvals.resolve", { id: first?.id, decision: "always" });
    await expect(control.call("approvals.resolve", { id: first?.id, decision: "deny" })).rejects.toThrow(/allowed/);
    await eventually(() => existsSync(join(home, "workspace", "made")), 10_000, "the run");
    await eventually(() => w.answers(owner).some(({ text }) => text === "done"), 10_000, "the answer");
    w.telegram.as(owner).says("do it again: do it");
    await eventually(() => w.answers(owner).filter(({ text }) => text === "done").length === 2, 10_000, "the second answer");
    const after = (await control.call("approvals.list", { all: true })) as MethodResult<"approvals.list">;
    expect(after.approvals.map(({ state }) => state)).toEqual(["used"]);
    expect(after.approvals[0]?.log.map(({ what }) => what)).toEqual(["asked", "always", "used"]);
    expect(after.grants).toMatchObject([{ agent: "main", argv: [expect.stringMatching(/\/mkdir$/), "-p", "made"] }]);
    const tools = (await control.call("tools.list", {})) as MethodResult<"tools.list">;
    expect(tools.tools.find(({ id }) => id === "exec")).toMatchObject({ status: "ready" });
    expect(tools.tools.find(({ id }) => id === "web_search")).toMatchObject({ status: "unavailable", reason: "not built yet" });
    control.close();
  });
});
