// What is offered behind commands while people type: what they could use there, and nothing to strangers.
import type { Inbound } from "@parley/protocol";
import { afterEach, describe, expect, test } from "vitest";
import { stage, type Stage } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const config = {
  models: { providers: { local: { api: "openai-completions", baseUrl: "http://127.0.0.1:1/v1" } } },
  commands: { ownerAllowFrom: ["discord:1"] },
  agents: {
    defaults: { models: { "local/small": { alias: "fast" }, "local/large": { alias: "deep" } } },
  },
  channels: {
    discord: {
      token: "x",
      allowFrom: ["1"],
      guilds: { "9": { users: ["1", "2"], channels: { "100": {} } } },
    },
  },
};

async function offered(
  text: string,
  from: string,
  where: "channel" | "dm" = "channel",
): Promise<readonly string[]> {
  const address = {
    channel: "discord",
    account: "default",
    kind: where,
    peer: where === "dm" ? from : "100",
  } as const;
  const typed: Inbound = {
    id: "discord:default:i1",
    channel: "discord",
    account: "default",
    address,
    sender: { id: from, name: from, isBot: false },
    messageId: "i1",
    kind: "command",
    text,
    attachments: [],
    mentions: [],
    addressed: true,
    ...(where === "dm" ? {} : { guild: "9" }),
    atMs: 0,
  };
  return (await s.core().commands.suggest(typed)).map(({ value }) => value);
}

describe("an argument is offered", () => {
  test.each([
    ["/model", ["fast", "deep", "default", "list"]],
    ["/model dee", ["deep"]],
    ["/model local/lar", ["deep"]],
    ["/queue c", ["collect"]],
    ["/reasoning st", ["stream"]],
    ["/subagents k", ["kill all"]],
    ["/handoff", ["off"]],
    ["/status", []],
    ["/nothing", []],
    ["words", []],
  ])("behind %j: %j", async (text, values) => {
    s = await stage({ second: "discord", config });
    const found = await offered(text, "2");
    expect(values.length === 0 ? found : found.filter((value) => values.includes(value))).toEqual(values);
    if (text === "/model dee") expect(found).toEqual(values);
  });
});

test("nothing is offered to whoever may not speak there, and they are not asked to pair", async () => {
  s = await stage({ second: "discord", config });
  expect(await offered("/model", "3")).toEqual([]);
  expect(await offered("/model", "3", "dm")).toEqual([]);
  expect(await offered("/model", "1", "dm")).toContain("deep");
  expect(await s.store().cells.list("pairing", 10)).toEqual([]);
});
