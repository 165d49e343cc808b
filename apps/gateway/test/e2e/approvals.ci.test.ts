// A command that needs a person's word, over the wire: buttons in a chat, a kill while the turn waits, the
// press after the restart.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { MethodResult } from "@parley/protocol";
import type { ModelAnswer, ModelCall, VisibleMessage } from "@parley/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lookAt } from "../crash/store-look.ts";
import { controlClient } from "./control-client.ts";
import { cleanUp, eventually, freshHome } from "./daemon.ts";
import { parley, parleyJson } from "./operator.ts";
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
  if (lastUserText.includes("do it") && lastToolResult === null)
    return { toolCalls: [{ name: "exec", args: { command } }] };
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
      | {
          readonly inline_keyboard: readonly (readonly {
            readonly text: string;
            readonly callback_data: string;
          }[])[];
        }
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
    // Once its receipt is recorded the card is not sent again.
    await eventually(() => lookAt(home).openDeliveries === 0);
    daemon.kill("SIGKILL");
    await daemon.exited;

    await w.start({ home, config });
    me.presses(asked.id, valueOf(/Once/));
    await eventually(async () => (await runs(home)) === 1, 10_000, "the run");
    await eventually(
      () => w.answers(owner).some(({ text }) => text.startsWith("so: ")),
      10_000,
      "the answer",
    );
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
    await expect(control.call("approvals.resolve", { id: first?.id, decision: "deny" })).rejects.toThrow(
      /allowed/,
    );
    await eventually(() => existsSync(join(home, "workspace", "made")), 10_000, "the run");
    await eventually(() => w.answers(owner).some(({ text }) => text === "done"), 10_000, "the answer");
    w.telegram.as(owner).says("do it again: do it");
    await eventually(
      () => w.answers(owner).filter(({ text }) => text === "done").length === 2,
      10_000,
      "the second answer",
    );
    const after = (await control.call("approvals.list", { all: true })) as MethodResult<"approvals.list">;
    expect(after.approvals.map(({ state }) => state)).toEqual(["used"]);
    expect(after.approvals[0]?.log.map(({ what }) => what)).toEqual(["asked", "always", "used"]);
    expect(after.grants).toMatchObject([
      { agent: "main", argv: [expect.stringMatching(/\/mkdir$/), "-p", "made"] },
    ]);
    const tools = (await control.call("tools.list", {})) as MethodResult<"tools.list">;
    expect(tools.tools.find(({ id }) => id === "exec")).toMatchObject({ status: "ready" });
    expect(tools.tools.find(({ id }) => id === "nodes")).toMatchObject({
      status: "unavailable",
      reason: "no device is paired (parley devices pair)",
    });
    control.close();
  });

  test("may be listed, decided and taken back while the daemon is stopped: the next one acts on it", async () => {
    w.models.reply(({ lastToolResult, lastUserText }) =>
      lastUserText.includes("do it") && lastToolResult === null
        ? { toolCalls: [{ name: "exec", args: { command: ["mkdir", "made"] } }] }
        : "done",
    );
    const daemon = await w.start({ config });
    w.telegram.as(owner).says("do it");
    await card();
    expect(await daemon.stop()).toBe(0);
    const { home } = daemon;
    const { approvals } = (await parleyJson(home, "approvals", "list")) as MethodResult<"approvals.list">;
    expect(approvals).toMatchObject([{ state: "open", tool: "exec", always: true }]);
    const decided = await parley(home, "approvals", "resolve", approvals[0]?.id ?? "", "always");
    expect([decided.exitCode, decided.out]).toEqual([
      0,
      expect.stringMatching(/^♾ Allowed for good by operator/),
    ]);
    const after = (await parleyJson(home, "approvals", "list")) as MethodResult<"approvals.list">;
    expect([after.approvals.length, after.grants.length]).toEqual([0, 1]);
    const { tools } = (await parleyJson(home, "tools", "list")) as MethodResult<"tools.list">;
    expect(tools.find(({ id }) => id === "exec")).toMatchObject({ status: "ready" });
    expect((await parley(home, "tools", "explain")).out).toMatch(
      /^nodes \(.*\): unavailable, because no device is paired/m,
    );
    expect((await parley(home, "approvals", "revoke", after.grants[0]?.id ?? "")).exitCode).toBe(0);
    expect(existsSync(join(home, "workspace", "made"))).toBe(false);

    await w.start({ home, config });
    await eventually(() => existsSync(join(home, "workspace", "made")), 10_000, "the run");
    await eventually(() => w.answers(owner).some(({ text }) => text === "done"), 10_000, "the answer");
  });

  test("counts only from whom it is for, and once", async () => {
    const group = -1_000_000_000_555;
    w.telegram.group({ id: group });
    const { channels, ...rest } = w.config as { readonly channels: { readonly telegram: object } };
    w.models.reply(asks);
    const home = await freshHome();
    await w.start({
      home,
      config: {
        ...rest,
        ...config,
        approvals: { exec: { target: "channel" } },
        channels: {
          telegram: {
            ...channels.telegram,
            groups: { [group]: { allowFrom: ["*"], requireMention: false } },
          },
        },
      },
    });
    const [me, other] = [w.telegram.as(owner), w.telegram.as(7)];
    other.says("do it", { chat: group });
    const asked = await card(group);
    other.presses(asked.id, valueOf(/Once/), { chat: group });
    await eventually(
      () => w.telegram.calls("answerCallbackQuery").length === 1,
      10_000,
      "the answer to the press",
    );
    expect(w.telegram.calls("answerCallbackQuery")[0]?.params).toMatchObject({
      text: "This button is not for you.",
    });
    // By hand neither.
    other.says(`/approve ${/Approval (\w+)/.exec(asked.text)?.[1]} once`, { chat: group });
    await eventually(
      () => w.answers(group).some(({ text }) => /may not decide|not for you|only/i.test(text)),
      10_000,
      "the refusal",
    );
    expect(await runs(home)).toBe(0);
    const once = valueOf(/Once/);
    me.presses(asked.id, once, { chat: group });
    me.presses(asked.id, once, { chat: group });
    await eventually(
      () => w.answers(group).some(({ text }) => text.startsWith("so: ")),
      10_000,
      "the answer",
    );
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await runs(home)).toBe(1);
    expect(w.answers(group).filter(({ text }) => text.startsWith("so: "))).toHaveLength(1);
  });
});
