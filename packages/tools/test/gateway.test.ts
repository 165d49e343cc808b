// What an owner's agent may do to Parley itself, and what no spelling lets it do.
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { Fault, type Json, type JsonObject } from "@parley/protocol";
import type { Settings, ToolContext } from "../src/index.ts";
import { mergePatch, protectedChanges } from "../src/protected-settings.ts";
import { gateway } from "../src/tools/gateway.ts";
import { sessionStatus, timeIn } from "../src/tools/session-status.ts";
import { updatePlan } from "../src/tools/update-plan.ts";
import { refusedWith, said } from "./stage.ts";

const config: JsonObject = {
  tools: { exec: { mode: "allowlist", ask: "on-miss" }, deny: ["gateway"] },
  messages: { queue: { mode: "steer", cap: 20 } },
  channels: {
    telegram: {
      botToken: "123:secret",
      allowFrom: ["1"],
      streaming: "edit",
      groups: { "-1": { requireMention: true } },
    },
  },
  agents: { defaults: { model: "openai/gpt-5", sandbox: { mode: "all" } }, list: [{ id: "main" }] },
  models: { providers: { openai: { baseUrl: "https://api" } } },
};

let written: JsonObject[];
let restarts: string[];
let updates: string[];
let settings: Settings;
beforeEach(() => {
  written = [];
  restarts = [];
  updates = [];
  settings = {
    read: async () => ({
      value: config,
      shown: { messages: config["messages"] ?? null, channels: { telegram: { botToken: "(secret)" } } },
      hash: "h1",
    }),
    schema: async (path) => (path === "messages.queue" ? { type: "object" } : null),
    async write(value, basedOn) {
      if (basedOn !== "h1") throw new Fault("conflict", "changed");
      written.push(value);
      return { restart: false };
    },
    restart: async (_scope, reason) => void restarts.push(reason),
    checkUpdate: async () => "Parley 9.9.9 is there.",
    update: async (_scope, to) => void updates.push(to ?? "newest"),
  };
});
const tool = () => gateway({ owner: true, settings } as ToolContext);

describe("gateway", () => {
  test("updates to the newest version, or to a named one, and to nothing that is none", async () => {
    expect(await said(tool(), { action: "update.run" })).toContain("you are told how it ended");
    await said(tool(), { action: "update.run", to: "1.2.3" });
    expect(updates).toEqual(["newest", "1.2.3"]);
    expect(await said(tool(), { action: "update.check" })).toBe("Parley 9.9.9 is there.");
    expect(updates).toHaveLength(2);
  });

  test("what a page may have asked for is shown to an owner first, and what only looks is not", () => {
    const made = tool();
    if ("unavailable" in made) throw new Error(made.unavailable);
    const shown = (args: JsonObject) => {
      const parsed = made.parse(args);
      return parsed.ok ? made.outside?.(parsed.args, {} as never, {} as never) : parsed.reason;
    };
    expect(shown({ action: "update.run" })).toBe("update Parley to the newest version");
    expect(shown({ action: "update.run", to: "1.2.3" })).toBe("update Parley to 1.2.3");
    expect(shown({ action: "restart", reason: "a\u202eb" })).toMatch(/^restart Parley: a[^\u202e]+b$/);
    expect(shown({ action: "config.patch", patch: { x: 1 } })).toBe('config.patch\n{"x":1}');
    expect(shown({ action: "config.apply", config: { y: 2 } })).toBe('config.apply\n{"y":2}');
    const looks = ["config.get", "config.schema.lookup", "update.check"];
    expect(looks.map((action) => shown({ action }))).toEqual([null, null, null]);
  });

  test("shows the configuration without its secrets, and its schema", async () => {
    expect(await said(tool(), { action: "config.get" })).not.toContain("123:secret");
    expect(await said(tool(), { action: "config.get", path: "messages.queue.mode" })).toBe(
      '"steer"\nhash: h1',
    );
    expect(await said(tool(), { action: "config.get", path: "messages.nothing" })).toContain("is not set");
    expect(await said(tool(), { action: "config.schema.lookup", path: "messages.queue" })).toContain(
      '"object"',
    );
    expect(await refusedWith(tool(), { action: "config.schema.lookup", path: "nothing" })).toContain(
      "there is no key",
    );
    expect(await refusedWith(tool(), { action: "config.schema.lookup" })).toContain("needs path");
  });

  test("merges a patch into the file, or puts a whole one in its place", async () => {
    expect(
      await said(tool(), {
        action: "config.patch",
        patch: { messages: { queue: { mode: null, debounceMs: 5 } } },
        baseHash: "h1",
      }),
    ).toBe("Changed, and in effect.");
    expect(
      await said(tool(), {
        action: "config.apply",
        config: { ...config, session: { reset: { mode: "daily" } } },
      }),
    ).toContain("Changed");
    expect(written).toEqual([
      { ...config, messages: { queue: { cap: 20, debounceMs: 5 } } },
      { ...config, session: { reset: { mode: "daily" } } },
    ]);
    expect(
      await refusedWith(tool(), { action: "config.patch", patch: { session: {} }, baseHash: "old" }),
    ).toContain("changed since");
  });

  test.each([
    { tools: { exec: { mode: "full" } } },
    { tools: { exec: { ask: "off" } } },
    { tools: { exec: null } },
    { tools: null },
    { tools: { bash: { ask: "off" } } },
    { tools: { deny: [] } },
    { tools: { deny: { "0": "x" } } },
    { agents: { defaults: { sandbox: { mode: "off" } } } },
    { agents: { defaults: { sandbox: null } } },
    { agents: { defaults: null } },
    { agents: { list: [{ id: "main", tools: { exec: { mode: "full" } } }] } },
    { agents: { list: [{ id: "main" }, { id: "other", workspace: "/" }] } },
    { agents: { list: null } },
    { channels: { telegram: { allowFrom: ["*"] } } },
    { channels: { telegram: { dmPolicy: "open" } } },
    { channels: { telegram: { groups: { "-1": { requireMention: false } } } } },
    { channels: { telegram: { groups: { "*": {} } } } },
    { channels: { telegram: { accounts: { b: { botToken: "x" } } } } },
    { channels: { telegram: { apiRoot: "https://evil" } } },
    { channels: null },
    { commands: { ownerAllowFrom: ["telegram:666"] } },
    { gateway: { auth: { token: "x" } } },
    { models: { providers: { openai: { baseUrl: "https://evil" } } } },
    { bindings: [] },
    { approvals: { exec: { enabled: false } } },
    { session: { dmScope: "main" } },
    { session: { identityLinks: {} } },
    { agents: { defaults: { spend: { dayUsd: 1e9 } } } },
    { agents: { defaults: { timeoutSeconds: 86_400 } } },
    { agents: { defaults: { maxConcurrent: 1024 } } },
    { agents: { defaults: { repoRoot: "/" } } },
    { agents: { list: [{ id: "main", spend: {} }] } },
    { agents: { list: [] } },
    { agents: { list: {} } },
    { logging: { level: "error" } },
    { logging: { file: { enabled: false } } },
    { logging: {} },
    { media: { keepDays: 2 } },
    { channels: { telegram: { enabled: false } } },
    { channels: { web: { enabled: false } } },
    { channels: { telegram: { pacing: "off" } } },
    { channels: { telegram: { reactionNotifications: "all" } } },
    { channels: { telegram: { accounts: { b: { streaming: "off" } } } } },
    { channels: { discord: { suppressEmbeds: false } } },
    { messages: { queue: { drop: "new" } } },
    { messages: { queue: { cap: 1 } } },
    { messages: { queue: "steer" } },
    { messages: { groupChat: { historyLimit: 200 } } },
    { messages: null },
    { memory: "off" },
    { configVersion: 99 },
    { aKeyOfTomorrow: {} },
    { agents: { defaults: { aKeyOfTomorrow: 1 } } },
    { agents: { defaults: { model: "openai/o5-pro" } } },
    { agents: { defaults: { model: { primary: "openai/gpt-5", fallbacks: ["x/y"] } } } },
    { agents: { defaults: { model: { primary: { a: "b" } } } } },
    { agents: { defaults: { model: null } } },
  ] satisfies JsonObject[])("may not change what protects people: %j", async (patch) => {
    expect(await refusedWith(tool(), { action: "config.patch", patch })).toContain(
      "only the operator may change",
    );
    expect(
      await refusedWith(tool(), { action: "config.apply", config: mergePatch(config, patch) }),
    ).toContain("only the operator may change");
    expect(written).toEqual([]);
  });

  test("says what was done, what stays as it is and why, word for word", async () => {
    const bySettings = (more: Partial<Settings>) =>
      gateway({ owner: true, settings: { ...settings, ...more } } as ToolContext);
    const queue = { action: "config.patch", patch: { messages: { queue: { mode: "collect" } } } };
    expect([
      await said(tool(), { action: "restart" }),
      await said(tool(), { action: "update.run", to: "1.2.3" }),
      await said(tool(), { action: "config.get" }),
      await said(tool(), { action: "config.get", path: "messages.queue.mode.none" }),
      await said(tool(), { action: "config.get", path: "messages.constructor" }),
      await said(tool(), { action: "config.schema.lookup", path: "messages.queue" }),
      await said(bySettings({ write: async () => ({ restart: true }) }), queue),
      await refusedWith(tool(), { action: "config.schema.lookup", path: "nothing" }),
      await refusedWith(tool(), { action: "config.schema.lookup" }),
      await refusedWith(tool(), { action: "config.patch" }),
      await refusedWith(tool(), { action: "config.apply" }),
      await refusedWith(tool(), { ...queue, baseHash: "h2" }),
    ]).toEqual([
      "Parley restarts after this answer.",
      "The update begins; you are told how it ended.",
      `${JSON.stringify((await settings.read()).shown, null, 2)}\nhash: h1`,
      "messages.queue.mode.none is not set.\nhash: h1",
      "messages.constructor is not set.\nhash: h1",
      '{\n  "type": "object"\n}',
      "Changed; a restart is needed for it to take effect.",
      'there is no key "nothing"',
      "this action needs path",
      "this action needs patch",
      "this action needs config",
      "the configuration changed since config.get; read it again",
    ]);
    expect([restarts, updates, written]).toEqual([["asked by the agent"], ["1.2.3"], []]);
    const many = Object.fromEntries(["a", "b", "c", "d", "e", "f"].map((key) => [key, 1]));
    const denied = await refusedWith(tool(), { action: "config.patch", patch: many });
    expect(denied).toMatch(
      /^only the operator may change a, b, c, d, e; nothing was changed\. You may change agents\.defaults\.model \(/,
    );
    expect(denied).toContain("agents.defaults.thinkingDefault, agents.list.*.thinkingDefault, ");
    for (const to of ["-1", ".1", "1 2", "x".repeat(65), ""])
      expect([to, await refusedWith(tool(), { action: "update.run", to })]).toEqual([to, expect.any(String)]);
    await said(tool(), { action: "update.run", to: `1+a-${"x".repeat(60)}` });
    expect(updates).toHaveLength(2);
    expect([
      gateway({ owner: false, settings } as ToolContext),
      gateway({ owner: true } as ToolContext),
    ]).toEqual([
      { unavailable: "only owners may use it (commands.ownerAllowFrom)" },
      { unavailable: "the configuration cannot be reached from here" },
    ]);
  });

  test("restarts after the answer; takes no other action; is for owners only", async () => {
    await said(tool(), { action: "restart", reason: "new model" });
    expect(restarts).toEqual(["new model"]);
    expect(await refusedWith(tool(), { action: "update.all" })).toContain("Invalid option");
    expect(gateway({ owner: false, settings } as ToolContext)).toEqual({
      unavailable: expect.stringContaining("only owners"),
    });
    expect(gateway({ owner: true } as ToolContext)).toEqual({ unavailable: expect.any(String) });
  });
});

describe("protected settings", () => {
  test("no patch whatsoever gets a change of tools past", () => {
    const leaf = fc.oneof(fc.constant(null), fc.boolean(), fc.string(), fc.constantFrom("full", "off"));
    const patch = fc.letrec<{ tree: Json }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.dictionary(
          fc.constantFrom(
            "tools",
            "exec",
            "mode",
            "ask",
            "agents",
            "__proto__",
            "constructor",
            "messages",
            "queue",
          ),
          tie("tree"),
        ) as fc.Arbitrary<Json>,
      ),
    })).tree;
    fc.assert(
      fc.property(patch, (change) => {
        const after = mergePatch(config, change);
        const tools = (value: Json): string =>
          JSON.stringify((value as JsonObject | null)?.["tools"] ?? null);
        if (tools(after) !== tools(config)) expect(protectedChanges(config, after)).not.toEqual([]);
        expect(({} as { mode?: string }).mode).toBe(undefined);
      }),
    );
  });

  test("what is the same is no change, whatever the order of its keys", () => {
    expect(protectedChanges({ tools: { a: 1, b: [1] } }, { tools: { b: [1], a: 1 } })).toEqual([]);
    expect(protectedChanges({ tools: { b: [1, 2] } }, { tools: { b: [2, 1] } })).toEqual(["tools"]);
    expect(protectedChanges({}, { tools: {} })).toEqual(["tools"]);
  });

  test("what makes the agent speak differently may be changed", () => {
    const changes: JsonObject[] = [
      { agents: { defaults: { userTimezone: "Asia/Tokyo", timeFormat: "12", thinkingDefault: "low" } } },
      { messages: { queue: { mode: "collect", debounceMs: 0 } } },
      { messages: { tts: { auto: "always" } } },
      { session: { reset: { mode: "none" }, resetByChannel: { telegram: { mode: "daily" } } } },
      { session: null },
      { channels: { telegram: { streaming: "off" } } },
      { channels: { discord: { replyToMode: "first" } } },
    ];
    for (const change of changes)
      expect(protectedChanges(config, mergePatch(config, change)), JSON.stringify(change)).toEqual([]);
  });

  test("a model may be chosen among those that the file names, wherever it names them", () => {
    const rich: JsonObject = {
      models: { providers: { local: { models: [{ id: "small" }, { id: "big" }] } } },
      agents: {
        defaults: {
          model: { primary: "openai/gpt-5", fallbacks: ["openai/gpt-5-mini"] },
          models: { "x/y": {} },
        },
        list: [{ id: "main", model: "a/b" }, { id: "two" }],
      },
    };
    for (const model of [
      "local/small",
      "openai/gpt-5-mini",
      "x/y",
      "a/b",
      { primary: "local/big", fallbacks: ["a/b"] },
    ]) {
      expect(
        protectedChanges(rich, mergePatch(rich, { agents: { defaults: { model } } })),
        JSON.stringify(model),
      ).toEqual([]);
    }
    const chosen = (model: Json): Json =>
      mergePatch(rich, {
        agents: {
          list: [
            { id: "main", model: "a/b" },
            { id: "two", model },
          ],
        },
      });
    expect(protectedChanges(rich, chosen("local/big"))).toEqual([]);
    expect(protectedChanges(rich, chosen("local/other"))).toEqual(["agents.list.1.model"]);
  });

  test("where a spend limit is set its day does not move", () => {
    const capped = mergePatch(config, { agents: { defaults: { spend: { dayUsd: 5 } } } });
    const zone = { agents: { defaults: { userTimezone: "Pacific/Kiritimati" } } };
    expect(protectedChanges(capped, mergePatch(capped, zone))).toEqual(["agents.defaults.userTimezone"]);
    const one = mergePatch(config, { agents: { list: [{ id: "main", spend: { dayTokens: 5 } }] } });
    expect(protectedChanges(one, mergePatch(one, zone))).toEqual(["agents.defaults.userTimezone"]);
    expect(protectedChanges(config, mergePatch(config, zone))).toEqual([]);
  });
});

describe("session_status", () => {
  test("tells the time in the user's zone, and sets and clears the model", async () => {
    const models: (string | null)[] = [];
    const status = {
      lines: async () => [{ name: "Model", value: "x/y" }],
      async setModel(_scope: unknown, model: string | null) {
        models.push(model);
        return model ?? "the agent's own";
      },
    };
    const context = {
      status,
      timeZone: "Europe/Berlin",
      clock: { now: () => Date.UTC(2026, 6, 1, 22, 5) },
    } as unknown as ToolContext;
    expect(await said(sessionStatus(context), {})).toBe(
      "Time: Thursday, 2 July 2026, 00:05 (Europe/Berlin, GMT+02:00)\nModel: x/y",
    );
    expect(await said(sessionStatus(context), { model: "a/b" })).toContain("Set: a/b\n");
    expect(await said(sessionStatus(context), { model: "default" })).toContain("Set: the agent's own\n");
    expect(models).toEqual(["a/b", null]);
    expect(timeIn("UTC", 0)).toBe("Thursday, 1 January 1970, 00:00 (UTC, GMT+00:00)");
    expect(timeIn("UTC", 50_700_000, true)).toBe("Thursday, 1 January 1970, 2:05 pm (UTC, GMT+00:00)");
  });
});

describe("update_plan", () => {
  test("keeps the plan, with at most one step in progress", async () => {
    const saved: unknown[] = [];
    const context = {
      plans: { save: async (_scope: unknown, plan: unknown) => void saved.push(plan) },
    } as unknown as ToolContext;
    const plan = [
      { step: "one", status: "completed" },
      { step: "two", status: "in_progress" },
    ];
    expect(await said(updatePlan(context), { plan, explanation: "why" })).toBe(
      "Plan kept: 1 of 2 steps done.",
    );
    expect(saved).toEqual([{ steps: plan, explanation: "why" }]);
    expect(
      await refusedWith(updatePlan(context), {
        plan: plan.map(({ step }) => ({ step, status: "in_progress" })),
      }),
    ).toContain("at most one step");
  });
});
