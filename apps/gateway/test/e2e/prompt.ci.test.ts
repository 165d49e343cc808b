// The prompt over the wire: what the model server is sent, what `parley prompt` and /context say of it, and
// that nothing moves it but facts.
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { MethodResult } from "@parley/protocol";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { controlClient } from "./control-client.ts";
import { cleanUp, freshHome } from "./daemon.ts";
import { findableGateway, parley, parleyJson } from "./operator.ts";
import { world, type World } from "./world.ts";

type Shown = MethodResult<"prompt.show">;
type Explained = MethodResult<"prompt.explain">;
type Moved = MethodResult<"prompt.diff">;

let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  await cleanUp();
  expect(w.telegram.violations()).toEqual([]);
  await w.close();
});

const session = "agent:main:telegram:dm:7";
const systemOf = (n: number): string => w.models.requests()[n]?.system ?? "";

test("an operator is shown every prompt, now and of old turns, running and stopped", async () => {
  const daemon = await w.start({ config: await findableGateway() });
  const { home } = daemon;
  const control = await controlClient(daemon);
  const show = async (turn: number): Promise<Shown> =>
    (await control.call("prompt.show", { session, turn })) as Shown;
  const soul = join(home, "workspace", "SOUL.md");
  const alice = w.telegram.as(7);
  alice.says("one");
  await w.answered(7, 1);
  const first = await show(1);
  expect(first.text).toBe(systemOf(0));
  expect(first.text.slice(0, first.boundary)).not.toContain("## Runtime");
  expect((await parley(home, "prompt", "show", "--turn", "last")).out).toBe(`${systemOf(0)}\n`);

  await writeFile(soul, "Answer in verse.");
  const moved = (await parleyJson(home, "prompt", "diff", "--session", session)) as Moved;
  expect(moved).toMatchObject({
    stableMoved: true,
    files: ["SOUL.md"],
    tools: [],
    before: { turn: 1 },
    after: { turn: null },
  });
  expect(moved.moves.map(({ id }) => id)).toEqual(["project_context"]);

  alice.says("two");
  await w.answered(7, 2);
  expect(systemOf(1)).toContain("Answer in verse.");
  expect(daemon.log()).toMatch(
    /"moved":\["project_context"\],"files":\["SOUL.md"\].*the stable prompt moved/,
  );
  expect((await show(1)).text).toBe(systemOf(0));
  expect((await show(-1)).text).toBe(systemOf(1));

  w.telegram.as(8).says("three");
  await w.answered(8, 1);
  const other = (await control.call("prompt.diff", { session, with: "agent:main:telegram:dm:8" })) as Moved;
  expect(other.stableMoved).toBe(false);
  expect(new Set(other.moves.map(({ zone }) => zone))).toEqual(new Set(["volatile"]));

  const told = (await control.call("prompt.explain", { session, turn: 2 })) as Explained;
  expect(told.moved).toMatchObject({ stableMoved: true, files: ["SOUL.md"], since: { turn: 1 } });
  expect(told.explanation.sections.find(({ id }) => id === "channel")).toMatchObject({
    included: true,
    zone: "volatile",
  });
  expect(told.explanation.sections.find(({ id }) => id === "skills")).toMatchObject({ included: true });
  expect(told.explanation.files.find(({ name }) => name === "SOUL.md")).toMatchObject({
    rawChars: 16,
    injectedChars: 16,
  });
  await expect(control.call("prompt.show", { session, turn: 99 })).rejects.toThrow("turns 1 to 2 are kept");
  await expect(control.call("prompt.show", { session: "nonsense" })).rejects.toThrow("malformed");
  control.close();

  await daemon.stop();
  const words = (await parley(home, "prompt", "explain", "--session", session)).out;
  expect(words).toMatch(/in {3}identity .* always/);
  expect(words).toMatch(/out {2}voice .* replies are not spoken/);
  expect(words).toContain("cache boundary");
  expect(words).toContain("Since turn 2:\nnothing moved");
  await rm(soul);
  const stopped = (await parleyJson(home, "prompt", "diff", "--session", session)) as Moved;
  expect([stopped.moves.map(({ id }) => id), stopped.files]).toEqual([
    ["workspace_files", "project_context"],
    ["SOUL.md"],
  ]);
  expect(
    ((await parleyJson(home, "prompt", "show", "--session", session, "--turn", "2")) as Shown).text,
  ).toBe(systemOf(1));
});

test("turns, chats and restarts share the exact bytes up to the boundary, and the history is a prefix of the next request", async () => {
  const daemon = await w.start();
  const alice = w.telegram.as(7);
  alice.says("one");
  await w.answered(7, 1);
  alice.says("two");
  await w.answered(7, 2);
  w.telegram.as(8).says("other chat");
  await w.answered(8, 1);
  await daemon.stop();
  const again = await w.start({ home: daemon.home });
  alice.says("three");
  await w.answered(7, 3);

  const control = await controlClient(again);
  const { boundary } = (await control.call("prompt.show", { session, turn: 1 })) as Shown;
  control.close();
  const requests = w.models.requests();
  expect(requests).toHaveLength(4);
  expect(new Set(requests.map(({ system }) => system.slice(0, boundary))).size).toBe(1);
  const own = [requests[0], requests[1], requests[3]];
  expect(new Set(own.map((request) => request?.system)).size).toBe(1);
  expect(new Set(requests.map(({ body }) => JSON.stringify(body["tools"]))).size).toBe(1);
  for (const [at, request] of own.slice(1).entries()) {
    const before = JSON.stringify(own[at]?.body["messages"]).slice(0, -1);
    expect(JSON.stringify(request?.body["messages"]).startsWith(before)).toBe(true);
  }
});

test("a provider that must be told where to cache is told: at the tools, at the boundary, at the history", async () => {
  const models = {
    providers: {
      fake: { api: "anthropic-messages", baseUrl: `${w.models.url}/v1`, apiKey: "k", models: [{ id: "m1" }] },
    },
  };
  const daemon = await w.start({ config: { models, tools: { rehearsal: true } } });
  const alice = w.telegram.as(7);
  alice.says("one");
  await w.answered(7, 1);
  alice.says("two");
  await w.answered(7, 2);
  const control = await controlClient(daemon);
  const { text, boundary } = (await control.call("prompt.show", { session, turn: 2 })) as Shown;
  control.close();
  const [first, second] = w.models.requests().map(({ body }) => body as unknown as Marked);
  if (first === undefined || second === undefined) throw new Error("two requests are expected");
  expect(second.system.map((block) => [block.text, block.cache_control !== undefined])).toEqual([
    [text.slice(0, boundary), true],
    [text.slice(boundary).trimStart(), false],
  ]);
  expect(second.tools.map((tool) => tool.cache_control !== undefined)).toEqual([
    ...second.tools.slice(1).map(() => false),
    true,
  ]);
  expect(JSON.stringify(second.messages.at(-1))).toContain("cache_control");
  expect(JSON.stringify(second.messages.slice(0, -1))).not.toContain("cache_control");
  expect([second.system, second.tools]).toEqual([first.system, first.tools]);
});

interface Marked {
  readonly system: readonly { readonly text: string; readonly cache_control?: unknown }[];
  readonly tools: readonly { readonly cache_control?: unknown }[];
  readonly messages: readonly unknown[];
}

test("/context and /status tell people what the prompt is made of, never its text", async () => {
  const daemon = await w.start({ config: { commands: { ownerAllowFrom: ["telegram:7"] } } });
  await writeFile(join(daemon.home, "workspace", "USER.md"), `Her secret is plum. ${"x".repeat(30_000)}`);
  const alice = w.telegram.as(7);
  alice.says("/context");
  const [list] = await w.answered(7, 1);
  expect(list).toContain("USER.md: 30,020 → ");
  expect(list).toContain("(cut)");
  expect(list).toContain("nothing to compare with yet");
  expect(list).not.toContain("plum");
  alice.says("hello");
  await w.answered(7, 2);
  expect(w.models.requests()[0]?.lastUserText).toMatch(/\[Parley: \[Bootstrap truncation warning: USER.md/);
  await writeFile(join(daemon.home, "workspace", "USER.md"), "Short.");
  alice.says("/context detail");
  const detail = (await w.answered(7, 3)).at(-1);
  expect(detail).toMatch(/identity: \d+ tokens/);
  expect(detail).toMatch(/Moved since the last turn: project_context changed \(USER.md\)/);
  alice.says("/context sideways");
  expect((await w.answered(7, 4)).at(-1)).toContain("/context list");
  alice.says("/status");
  expect((await w.answered(7, 5)).at(-1)).toMatch(
    /Runtime: agent=main \| host=\S+ .*channel=telegram.*thinking=off/,
  );
  w.telegram.as(9).says("/status");
  const stranger = (await w.answered(9, 1)).at(-1);
  expect(stranger).toContain("Runtime: agent=main | os=");
  expect(stranger).not.toContain("host=");
});

describe("agent:bootstrap modules", () => {
  const hooks = (...modules: readonly string[]): object => ({
    hooks: { internal: { handlers: modules.map((module) => ({ event: "agent:bootstrap", module })) } },
  });

  test("replace workspace files, are seen anew when they change, and a broken one stops nothing", async () => {
    const home = await freshHome();
    await mkdir(join(home, "hooks"));
    const persona = join(home, "hooks", "persona.ts");
    const say = (words: string): Promise<void> =>
      writeFile(
        persona,
        `export default function persona(event: { context: { bootstrapFiles: { name: string; content?: string; missing: boolean }[]; agentId: string } }): void {
          const soul = event.context.bootstrapFiles.find((file) => file.name === "SOUL.md");
          if (soul) soul.content = "${words} " + event.context.agentId;
        }`,
      );
    await say("I am a pirate,");
    const daemon = await w.start({ home, config: hooks("./hooks/missing.ts", "./hooks/persona.ts") });
    const alice = w.telegram.as(7);
    alice.says("one");
    await w.answered(7, 1);
    expect(systemOf(0)).toContain("I am a pirate, main");
    expect(daemon.log()).toContain(join(home, "hooks", "missing.ts"));
    await say("I am a nurse now,");
    alice.says("two");
    await w.answered(7, 2);
    expect(systemOf(1)).toContain("I am a nurse now, main");
    await writeFile(persona, "export default () => { throw new Error('broken on purpose'); };");
    alice.says("three");
    await w.answered(7, 3);
    expect(systemOf(2)).toContain(
      ((await readFile(join(home, "workspace", "SOUL.md"), "utf8")).split("\n")[0] ?? "").trim(),
    );
    expect(daemon.log()).toContain("broken on purpose");
    expect(daemon.log()).toContain(persona);
  });
});

test("what the config says of owners and heartbeats stands in the prompt; of buttons, reactions and speech, which no tool can do, nothing does", async () => {
  await w.close();
  w = await world({ reactionLevel: "extensive", capabilities: { inlineButtons: "off" } });
  const agents = {
    defaults: {
      model: { primary: "fake/m1" },
      heartbeat: { every: "30m", prompt: "Look around." },
      userTimezone: "Asia/Tokyo",
    },
  };
  const commands = {
    ownerAllowFrom: ["telegram:7"],
    ownerDisplay: "hash",
    ownerDisplaySecret: "a key of the house",
  };
  // Without the message tool nothing can press or react, and a service without a key does not speak.
  const tools = { profile: "coding" };
  const daemon = await w.start({
    config: { agents, commands, tools, messages: { tts: { auto: "inbound", provider: "openai" } } },
  });
  w.telegram.as(7).says("hello");
  await w.answered(7, 1);
  const system = systemOf(0);
  expect(system).not.toMatch(/Reactions are enabled|supports|polls|spoken|## Voice|inlineButtons/);
  expect(system).toContain("Heartbeat prompt: Look around.");
  expect(system).toContain("## HEARTBEAT.md");
  expect(system).toContain("Time zone: Asia/Tokyo");
  expect(system).toMatch(/Parley docs: \/.*docs/);
  expect(system).toMatch(/Authorized senders: [0-9a-f]{12}\./);
  expect(system).not.toContain("telegram:7.");
  await daemon.stop();
});

test("the owner that pairing made stands in the prompt, from the first turn to the last of the pairing, also while the daemon is stopped", async () => {
  await w.close();
  w = await world({ dmPolicy: "pairing", allowFrom: [] });
  const daemon = await w.start({ config: await findableGateway() });
  w.telegram.as(7).says("hello");
  const code = /code: (\S{8})/.exec((await w.answered(7, 1))[0] ?? "")?.[1] ?? "";
  expect((await parley(daemon.home, "pair", "approve", code)).exitCode).toBe(0);
  w.telegram.as(7).says("hello again");
  await vi.waitFor(() => expect(w.models.requests()).toHaveLength(1), { timeout: 120_000 });
  expect(systemOf(0)).toContain("Authorized senders: telegram:7. ");
  await daemon.stop();
  expect(((await parleyJson(daemon.home, "prompt", "show", "--session", session)) as Shown).text).toContain(
    "Authorized senders: telegram:7. ",
  );
  await parley(daemon.home, "pair", "revoke", "telegram:7");
  expect(
    ((await parleyJson(daemon.home, "prompt", "show", "--session", session)) as Shown).text,
  ).not.toContain("Authorized senders");
});
