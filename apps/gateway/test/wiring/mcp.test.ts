// How the servers of mcp.servers are started, and the card that asks owners about their tools: over a real
// server of programs, and a real store.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { secret } from "@parley/config";
import { parseContent, silentLog, type Address } from "@parley/protocol";
import { fakeMcp, seededIds, virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { saidLog } from "../daemon/said-log.ts";
import { mcpSettings, wireMcp } from "../../src/wiring/mcp.ts";
import { operateFixture } from "../operator/operate-fixture.ts";

const server = {
  timeoutSeconds: 60,
  startTimeoutSeconds: 5,
  idleMinutes: 2,
  env: {},
  headers: {},
  oauth: {},
};

test("servers are started with their secrets revealed and their times in milliseconds", () => {
  const given = mcpSettings({
    approve: "all",
    servers: {
      files: {
        ...server,
        command: "files",
        env: { A: secret("a"), B: "b" },
        headers: { H: secret("h") },
        oauth: { clientSecret: secret("c"), clientId: "i" },
      },
    },
  } as never);
  expect(given).toEqual({
    approveFirst: true,
    servers: {
      files: {
        command: "files",
        env: { A: "a", B: "b" },
        headers: { H: "h" },
        oauth: { clientSecret: "c", clientId: "i" },
        timeoutMs: 60_000,
        startTimeoutMs: 5_000,
        idleMs: 120_000,
      },
    },
  });
  expect(mcpSettings({ approve: "changes", servers: {} } as never)).toEqual({
    approveFirst: false,
    servers: {},
  });
});

const dm = (peer: string): Address => ({ channel: "telegram", account: "default", kind: "dm", peer });

test("each owner is told once of tools that wait, with a button, in words that cannot be markup", async () => {
  const { store } = await operateFixture();
  const home = await mkdtemp(join(tmpdir(), "parley-mcp-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const tool = (name: string, description: string) => ({
    name,
    description,
    inputSchema: { type: "object" },
  });
  const many = Array.from({ length: 13 }, (_, at) =>
    tool(`t${String(at).padStart(2, "0")}`, at === 0 ? `${"*"}bold\n line${"x".repeat(400)}` : `Does ${at}.`),
  );
  const fake = fakeMcp(join(home, "fake.json"), { tools: many });
  const refused: unknown[] = [];
  const servers = wireMcp({
    store,
    home,
    env: { HOME: home },
    learn: () => undefined,
    configNow: () => ({ tools: {} }) as never,
    refused: (reason) => refused.push(reason),
    deciders: async () => [dm("1"), dm("2")],
    clock: virtualClock(),
    ids: seededIds(1),
    log: silentLog,
  });
  onTestFinished(() => servers.close());
  const settings = mcpSettings({
    approve: "all",
    servers: {
      files: { ...server, ...fake.server, enabled: true, transport: "stdio", tools: {}, sandbox: "auto" },
    },
  } as never);
  servers.use(settings);
  const shown = async () => {
    await expect.poll(async () => (await store.outbox.find({ limit: 9 })).length).toBeGreaterThan(0);
    const found = await store.outbox.find({ limit: 9 });
    return found.map(({ id, lane, parts: [part] }) => {
      const content = parseContent(part?.content ?? "");
      const [words] = content.kind === "reply" ? content.parts : [];
      return words?.kind === "text"
        ? { id, lane, markdown: words.markdown, buttons: words.buttons ?? [] }
        : { id, lane, markdown: "", buttons: [] };
    });
  };
  const tools = async () =>
    (await servers.at(settings, { kind: "none" } as never)).tools.map(({ name }) => name);
  expect(await tools()).toEqual([]);
  await expect.poll(async () => (await store.outbox.find({ limit: 9 })).length).toBe(2);
  const cards = await shown();
  expect(cards.map(({ lane }) => lane).toSorted()).toEqual([
    "telegram:default:dm:1",
    "telegram:default:dm:2",
  ]);
  const [{ markdown, buttons, id } = { markdown: "", buttons: [], id: "" }] = cards;
  const code = /mcp approve files (\S+)`/.exec(markdown)?.[1] ?? "none";
  expect(id).toMatch(new RegExp(`^mcp:files:${code}:telegram:default:dm:\\d$`));
  expect(markdown.split("\n\n").slice(1, 3)).toEqual([
    `- \`t00\` (new)\n  says:  bold line${"x".repeat(290)}…`,
    "- `t01` (new)\n  says: Does 1.",
  ]);
  expect(markdown.split("\n\n").slice(-2)[0]).toBe("… and 1 more.");
  expect(markdown.match(/\(new\)/g)).toHaveLength(12);
  // The button's value is a short name for the command, which its chat alone may press.
  const [[button] = []] = buttons;
  expect(button).toMatchObject({ label: "✅ Approve", style: "success", value: expect.stringMatching(/^~/) });
  const meant = await store.cells.list("", 1_000);
  expect(
    meant.filter(
      ({ value }) => value.includes(`"/mcp approve files ${code}"`) && value.includes('"commands":true'),
    ),
  ).toHaveLength(2);
  expect(await tools()).toEqual([]);
  expect(await store.outbox.find({ limit: 9 })).toHaveLength(2);
  expect(refused).toEqual([]);
  // What was approved and says something else now is told with both words.
  await servers.approve("files", code);
  fake.behaves({ tools: [tool("t01", "Does\u202e `more` now."), ...many.slice(2)] });
  await servers.test("files");
  await expect.poll(async () => (await store.outbox.find({ limit: 9 })).length).toBe(4);
  const changed = (await shown()).filter((card) => !cards.some((each) => each.id === card.id));
  expect(changed.map(({ markdown: words }) => words.split("\n\n").slice(1, -1))).toEqual([
    ["- `t01` (changed)\n  before: Does 1.\n  now: Does  more  now."],
    ["- `t01` (changed)\n  before: Does 1.\n  now: Does  more  now."],
  ]);
});

test("owners who cannot be told of tools that wait are told of in the log", async () => {
  const { store } = await operateFixture();
  const home = await mkdtemp(join(tmpdir(), "parley-mcp-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const { log, said } = saidLog();
  const fake = fakeMcp(join(home, "fake.json"), {
    tools: [{ name: "t", description: "Does.", inputSchema: { type: "object" } }],
  });
  const servers = wireMcp({
    store,
    home,
    env: { HOME: home },
    learn: () => undefined,
    configNow: () => ({ tools: { web: { egress: { allow: [], deny: [] } } } }) as never,
    refused: () => undefined,
    deciders: () => Promise.reject(new Error("the store is away")),
    clock: virtualClock(),
    ids: seededIds(1),
    log,
  });
  onTestFinished(() => servers.close());
  servers.use(
    mcpSettings({
      approve: "all",
      servers: {
        files: { ...server, ...fake.server, enabled: true, transport: "stdio", tools: {}, sandbox: "auto" },
      },
    } as never),
  );
  await servers.test("files");
  await expect.poll(() => said.length).toBeGreaterThan(0);
  expect(said).toContainEqual([
    "warn",
    "the owners could not be told of the tools of an MCP server",
    { server: "files", error: new Error("the store is away") },
  ]);
  expect(await store.outbox.find({ limit: 9 })).toEqual([]);
});
