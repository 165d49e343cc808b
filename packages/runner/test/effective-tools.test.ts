// Which tools a turn has, at each place and for each who asks: what a model is told, what is refused to whom
// and why, what this machine cannot provide, in which folder the tools work, and which commands may run.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "@parley/config";
import { Fault, type JsonObject } from "@parley/protocol";
import { seededIds, virtualClock } from "@parley/testkit";
import type { Tool } from "@parley/tools";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { upkeepSession } from "../src/memory/upkeep-job.ts";
import { effectiveTools, type MachinePorts } from "../src/tools/effective-tools.ts";
import { factsOf, needsSandbox } from "../src/tools/turn-sandbox.ts";
import { promptPathsIn, skillFolders } from "../src/tools/workspace-view.ts";

let home = "";
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "parley-effective-"));
});
afterAll(() => rm(home, { recursive: true, force: true }));

const remoteTool = (name: string, size = 10): Tool => ({
  name,
  summary: `Does ${name}`,
  description: "x".repeat(size),
  parameters: { type: "object", properties: {} },
  effect: "sends",
  parse: (args) => ({ ok: true, args }),
  run: async () => ({ content: [{ type: "text", text: `${name} ran` }] }),
});

const owner = { owner: true, senders: ["telegram:1"] };
const guest = { owner: false, senders: ["telegram:9"] };

async function stage(file: JsonObject = {}, machineMore: Partial<MachinePorts> | null = {}) {
  const { config } = await loadConfig({ env: {}, home, readFile: async () => JSON.stringify(file) });
  const clock = virtualClock();
  const asked: string[] = [];
  const machine: MachinePorts = {
    home,
    userHome: "/home/olga",
    exec: { commands: {} as never, host: { PATH: "/usr/bin" } },
    remote: {
      at: async (_mcp, sandbox) => {
        asked.push(sandbox === null ? "no sandbox" : sandbox.kind);
        return {
          tools: [remoteTool("notes__find"), remoteTool("notes__keep")],
          unavailable: [{ tool: "boats__sail", reason: "the server boats does not answer" }],
        };
      },
    },
    ...machineMore,
  };
  const nowhere = { unavailable: "not here" };
  const effective = effectiveTools(
    {
      config,
      owners: async () => ["telegram:1"],
      approvals: {
        book: {
          get: async () => null,
          grants: async (agent: string) => [
            { argv: ["ls"], cwd: `/of/${agent}`, sandbox: "none", files: [], outside: [] },
          ],
        },
      },
      toolHooks: { watched: (tool: Tool) => ({ ...tool, label: "watched" }) },
      moreTools: [remoteTool("rehearse")],
      skills: { readRoots: () => ["/skills/shared"] },
      installation: { docs: { path: "/docs" } },
      clock,
      ids: seededIds(1),
    } as never,
    machineMore === null ? undefined : machine,
    {
      seenPictures: { describer: () => nowhere },
      canvases: { unavailable: () => null },
      children: { agents: () => [] },
      upkeep: { look: async () => ({ groups: [], more: 0, untrusted: [] }) },
    } as never,
  );
  const agent = config.agents.list[0];
  if (agent === undefined) throw new Error("no agent");
  const at = async (more: object = {}) =>
    effective.at({
      agent,
      session: "agent:main:telegram:dm:1",
      places: [],
      by: owner,
      model: { id: "a/b", vision: false, contextWindow: 200_000 },
      ...more,
    } as never);
  const names = async (more: object = {}) => (await at(more)).tools.map(({ name }) => name);
  return { config, at, names, asked, agent };
}
type Here = Awaited<ReturnType<Awaited<ReturnType<typeof stage>>["at"]>>;
const toldOf = ({ tools, refused, decision, unavailable }: Here) => ({
  tools: tools.map(({ name }) => name).join(" "),
  refused: [...refused],
  removed: decision.removed.map(({ tool, step }) => `${tool} (${step})`).join(" "),
  unavailable: unavailable.map(({ tool, reason }) => `${tool}: ${reason}`),
});

describe("a private chat", () => {
  test("of an owner has all that this machine has, the rehearsed ones first and other programs' last, each watched", async () => {
    const { at, config } = await stage();
    const here = await at();
    expect(toldOf(here)).toMatchInlineSnapshot(`
      {
        "refused": [],
        "removed": "",
        "tools": "rehearse read write edit apply_patch exec process sessions_list sessions_history sessions_send sessions_spawn subagents session_status canvas message ask_user cron agents_list update_plan notes__find notes__keep",
        "unavailable": [
          "web_search: there is no way to the open web here",
          "web_fetch: there is no way to the open web here",
          "memory_search: memory is not searched here (agents.defaults.memorySearch.enabled)",
          "memory_get: memory is not searched here (agents.defaults.memorySearch.enabled)",
          "memory_upkeep: only the nightly upkeep has it (agents.defaults.memorySearch.upkeep)",
          "browser: there is no browser here",
          "gateway: the configuration cannot be reached from here",
          "nodes: no device can be reached from here",
          "tool_search: all tools are told to the model as they are (mcp.toolSearch)",
          "image: no pictures are kept here",
          "image_generate: no images are made here",
          "tts: nothing is spoken here",
          "boats__sail: the server boats does not answer",
        ],
      }
    `);
    expect(new Set(here.tools.map((tool) => (tool as { readonly label?: string }).label))).toEqual(
      new Set(["watched"]),
    );
    expect([here.sandbox, here.execPolicy]).toEqual([
      undefined,
      {
        mode: config.agents.list[0]?.tools.exec.mode,
        ask: config.agents.list[0]?.tools.exec.ask,
        allowlist: [],
        grants: [{ argv: ["ls"], cwd: "/of/main", sandbox: "none", files: [], outside: [] }],
        owner: true,
      },
    ]);
  });

  test("of somebody else has not the tools of owners, and a rule for a person takes a tool away there", async () => {
    const { at } = await stage({
      tools: { toolsBySender: { "telegram:9": { deny: ["read", "group:mcp"] }, "*": { deny: ["write"] } } },
    } as never);
    const theirs = await at({ by: guest, session: "agent:main:telegram:dm:9" });
    expect(toldOf(theirs)).toMatchInlineSnapshot(`
      {
        "refused": [],
        "removed": "read (sender) notes__find (sender) notes__keep (sender)",
        "tools": "rehearse write edit apply_patch exec process sessions_list sessions_history sessions_send sessions_spawn subagents session_status canvas message ask_user cron agents_list update_plan",
        "unavailable": [
          "web_search: there is no way to the open web here",
          "web_fetch: there is no way to the open web here",
          "memory_search: memory is not searched here (agents.defaults.memorySearch.enabled)",
          "memory_get: memory is not searched here (agents.defaults.memorySearch.enabled)",
          "memory_upkeep: only the nightly upkeep has it (agents.defaults.memorySearch.upkeep)",
          "browser: there is no browser here",
          "gateway: only owners may use it (commands.ownerAllowFrom)",
          "nodes: only owners may use it (commands.ownerAllowFrom)",
          "tool_search: all tools are told to the model as they are (mcp.toolSearch)",
          "image: no pictures are kept here",
          "image_generate: no images are made here",
          "tts: nothing is spoken here",
          "boats__sail: the server boats does not answer",
        ],
      }
    `);
    const others = await at({
      by: { owner: false, senders: ["telegram:8"] },
      session: "agent:main:telegram:dm:8",
    });
    expect(toldOf(others).removed).toBe("write (sender)");
    const both = await at({ by: { owner: false, senders: ["telegram:8", "telegram:9"] } });
    expect(toldOf(both).removed).toBe(
      "write (sender) read (sender) notes__find (sender) notes__keep (sender)",
    );
  });
});

test("rules of the config, of the agent and of its model each take tools away, and the step is named", async () => {
  const { at } = await stage({
    tools: { deny: ["exec"], byProvider: { "a/b": { deny: ["read"] }, other: { deny: ["message"] } } },
    agents: {
      list: [
        { id: "main", tools: { deny: ["write"], byProvider: { "q/r": { deny: ["canvas"] } } } },
        { id: "second", tools: { deny: ["edit"] } },
      ],
    },
  } as never);
  const removed = async (model: string) =>
    toldOf(await at({ model: { id: model, vision: false, contextWindow: 9e5 } })).removed;
  expect([await removed("a/b"), await removed("other/x"), await removed("q/r")]).toMatchInlineSnapshot(`
    [
      "exec (global) read (global provider) write (agent)",
      "exec (global) message (global provider) write (agent)",
      "exec (global) write (agent) canvas (agent provider)",
    ]
  `);
});

test("files are those of the workspace, one view for all turns, as changes to a folder are queued in it", async () => {
  const { at, agent } = await stage();
  const one = await at();
  expect((await at({ by: guest, session: "agent:main:telegram:dm:9" })).files).toBe(one.files);
  expect(one.files.own.root).toBe(agent.workspace);
});

describe("a shared place", () => {
  const group = { session: "agent:main:telegram:group:-5" };

  test("is told the same tools whoever asks; what is an owner's, or refused to the person, fails with its reason", async () => {
    const settings = { read: async () => ({ value: {}, shown: {}, hash: "h" }) } as never;
    const { at } = await stage({ tools: { toolsBySender: { "telegram:9": { deny: ["read"] } } } } as never, {
      settings,
    });
    const mine = await at({ ...group, by: owner });
    const theirs = await at({ ...group, by: guest });
    expect(theirs.tools.map(({ name, summary }) => `${name}: ${summary}`).toSorted()).toEqual(
      mine.tools.map(({ name, summary }) => `${name}: ${summary}`).toSorted(),
    );
    expect([[...mine.refused], [...theirs.refused]]).toEqual([
      [],
      [
        ["gateway", "only owners may use it (commands.ownerAllowFrom)"],
        ["read", 'tools.toolsBySender denies "read"'],
      ],
    ]);
    expect(
      mine.tools.filter(({ summary }) => summary.includes("for owners")).map(({ summary }) => summary),
    ).toEqual(["Restart or configure Parley (for owners; refused to others)"]);
    const gateway = theirs.tools.find(({ name }) => name === "gateway");
    await expect(gateway?.run({}, {} as never)).rejects.toThrow("only owners may use gateway");
    await expect(gateway?.run({}, {} as never)).rejects.toBeInstanceOf(Fault);
    expect(theirs.execPolicy.owner).toBe(false);
    const named = async (session: string) =>
      (await at({ by: guest, session })).tools.some(({ name }) => name === "gateway");
    const places = ["group:-5", "channel:55", "dm:9"].map((place) => `agent:main:telegram:${place}`);
    expect(await Promise.all(places.map(named))).toEqual([true, true, false]);
    const dm = await at({ by: guest, session: "agent:main:telegram:dm:9" });
    expect(dm.tools.map(({ name }) => name)).not.toContain("gateway");
    expect(dm.tools.map(({ name }) => name)).not.toContain("read");
    expect([...dm.refused]).toEqual([]);
  });

  test("narrows by the rules of its place, from the outermost on, for everybody", async () => {
    const { at } = await stage();
    const places = [{ allow: ["group:fs", "exec"] }, { deny: ["write"] }];
    const { tools, decision } = await at({ ...group, places });
    expect([tools.map(({ name }) => name), decision.removed.find(({ tool }) => tool === "write")]).toEqual([
      ["read", "edit", "apply_patch", "exec"],
      { tool: "write", step: "place", rule: 'this place denies "write"' },
    ]);
    const none = await at({ ...group, places: [{ allow: [] }] });
    expect([none.tools, none.decision.reason]).toEqual([
      [],
      "no tool is left: the last, notes__keep, was taken away by this place does not allow it",
    ]);
  });
});

test("the nightly upkeep alone has its tool, and a sub-agent has not what is for its parent", async () => {
  const { names } = await stage({ agents: { defaults: { subagents: { maxSpawnDepth: 2 } } } } as never);
  const usual = await names();
  expect(usual).not.toContain("memory_upkeep");
  expect(await names({ session: upkeepSession("main") })).toContain("memory_upkeep");
  expect(await names({ session: upkeepSession("other") })).not.toContain("memory_upkeep");
  const without = async (session: string) => {
    const there = await names({ session });
    return usual.filter((name) => !there.includes(name)).toSorted();
  };
  expect(await without("agent:main:subagent:0123456789ab-1")).toEqual([
    "ask_user",
    "cron",
    "message",
    "session_status",
    "sessions_send",
  ]);
  expect(await without("agent:main:subagent:0123456789ab-2")).toEqual([
    "ask_user",
    "cron",
    "message",
    "session_status",
    "sessions_history",
    "sessions_list",
    "sessions_send",
    "sessions_spawn",
    "subagents",
  ]);
});

describe("tools of other programs", () => {
  const searching = (mode: string): JsonObject => ({ mcp: { toolSearch: { mode } } });

  test("are told by name alone where they are searched, unless a rule takes the search away", async () => {
    const deferred = async (file: JsonObject, more: object = {}) => {
      const { tools } = await (await stage(file)).at(more);
      return [
        tools.filter((tool) => tool.deferred === true).map(({ name }) => name),
        tools.some(({ name }) => name === "tool_search"),
      ];
    };
    expect(await deferred(searching("on"))).toEqual([["notes__find", "notes__keep"], true]);
    expect(await deferred(searching("off"))).toEqual([[], false]);
    expect(await deferred(searching("on"), { places: [{ deny: ["tool_search"] }] })).toEqual([[], false]);
    expect(await deferred(searching("on"), { places: [{ deny: ["notes__find"] }] })).toEqual([
      ["notes__keep"],
      true,
    ]);
  });

  test("that do not fit a small window are left out, the largest first, and what is looked up counts for nothing", async () => {
    const large = {
      remote: {
        at: async () => ({
          tools: [
            remoteTool("a__small", 400),
            remoteTool("a__large", 90_000),
            remoteTool("a__huge", 120_000),
          ],
          unavailable: [],
        }),
      },
    };
    const model = { id: "a/b", vision: false, contextWindow: 32_000 };
    const places = [{ allow: ["group:mcp", "rehearse", "tool_search"] }];
    const told = await (await stage(searching("off"), large)).at({ model, places });
    expect([told.tools.map(({ name }) => name), told.unavailable.slice(-2).map(({ tool }) => tool)]).toEqual([
      ["rehearse", "a__small"],
      ["a__huge", "a__large"],
    ]);
    expect(told.unavailable.at(-1)?.reason).toMatch(
      /^its description \(\d+ tokens\) does not fit: those of all tools may take 8000 tokens, a quarter of the model's window$/,
    );
    const looked = await (await stage(searching("on"), large)).names({ model, places });
    expect(looked).toEqual(["rehearse", "tool_search", "a__small", "a__large", "a__huge"]);
  });
});

describe("a sandbox", () => {
  const sandboxed = (mode: string): JsonObject => ({
    agents: { defaults: { sandbox: { mode, backend: "docker", docker: { image: "none" } } } },
    tools: { sandbox: { tools: { deny: ["cron"] } } },
  });
  const broken = { exec: { commands: {} as never, host: { PATH: "/nowhere" } } };

  test("that cannot be had takes away what would run in it, and nothing falls back to the host", async () => {
    const { at, asked } = await stage(sandboxed("all"), broken);
    const here = await at();
    expect(here.tools.filter(({ name }) => needsSandbox(name))).toEqual([]);
    expect(toldOf(here).removed).toBe("cron (sandbox)");
    const shut = here.unavailable.filter(({ tool }) => needsSandbox(tool));
    expect(shut.map(({ tool }) => tool)).toEqual(["read", "write", "edit", "apply_patch", "exec", "process"]);
    expect(new Set(shut.map(({ reason }) => reason)).size).toBe(1);
    expect([here.sandbox, asked]).toEqual([undefined, ["no sandbox"]]);
  });

  test("is for the sessions that the config says: all, all but the main one, or none", async () => {
    const boxed = async (mode: string, session: string) => {
      const { at } = await stage(sandboxed(mode), broken);
      return !(await at({ session })).tools.some(({ name }) => name === "read");
    };
    const main = "agent:main:main";
    const dm = "agent:main:telegram:dm:1";
    expect([
      await boxed("all", main),
      await boxed("non-main", main),
      await boxed("non-main", dm),
      await boxed("off", dm),
    ]).toEqual([true, false, true, false]);
  });
});

test("without a machine there is what is rehearsed, and nothing else", async () => {
  const { at } = await stage({}, null);
  const { tools, unavailable, decision } = await at();
  expect([tools.map(({ name }) => name), unavailable, decision]).toEqual([
    ["rehearse"],
    [],
    { tools: ["rehearse"], removed: [] },
  ]);
});

test("the folders of skills and of other agents' prompts that lie in a workspace are known by their relative paths", () => {
  const config = {
    skills: { load: { extraDirs: ["/ws/more", "/shared", "/ws"] } },
    agents: { list: [{ workspace: "/ws" }, { workspace: "/ws/inner" }, { workspace: "/wsother" }] },
  };
  const paths = promptPathsIn(config as never, "/ws");
  expect([paths[0], paths.filter((path) => path.startsWith("inner/")).length > 3]).toEqual(["more", true]);
  expect(paths.filter((path) => path.startsWith("..") || path === "" || path.startsWith("/"))).toEqual([]);
  expect(skillFolders("/ws", ["/ws/more", "/shared", "/ws", "/", "/ws/a/b", "/ws..x"])).toEqual([
    "skills",
    ".agents/skills",
    "more",
    "a/b",
  ]);
});

test("the prompt is told of a sandbox what the agent's config says of it, and of none where the tools work on the host", () => {
  const agent = (network: boolean | "egress", workspaceAccess: string) =>
    ({ sandbox: { network, workspaceAccess } }) as never;
  const box = { kind: "docker", inside: "/workspace" } as never;
  const told = { kind: "docker", containerWorkspace: "/workspace", elevated: false };
  expect([
    factsOf({ kind: "none", inside: "/w" } as never, agent(false, "rw")),
    factsOf(box, agent(false, "ro")),
    factsOf(box, agent("egress", "none")),
  ]).toEqual([
    undefined,
    { ...told, access: "ro", network: "off" },
    { ...told, access: "none", network: "egress" },
  ]);
});
