// Modules of the operator around tool calls: blocking, being told, and each way of being broken.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "@parley/config";
import type { ConversationKey, Log, SessionKey } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { defineTool, textResult } from "@parley/tools";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { toolHooks, type ToolHooks } from "../src/tools/tool-hooks.ts";

let dir = "";
let errors: string[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-hooks-"));
  errors = [];
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const clock = virtualClock();
const log: Log = {
  debug() {},
  info() {},
  warn() {},
  error: (_fields, message) => void errors.push(message),
  child: () => log,
};
const args = { command: "ls" };
const scope = {
  session: "agent:main:main" as SessionKey,
  agent: "main",
  turn: "t1",
  conversation: "telegram:default:dm:42" as ConversationKey,
  by: { owner: true, senders: ["telegram:42"] },
  authority: "owner",
  workspace: "/w",
  env: {},
};
const ran: unknown[] = [];
const tool = defineTool({
  name: "exec",
  summary: "Run",
  description: "Runs.",
  args: z.object({ command: z.string() }),
  effect: "writes",
  async run(given) {
    ran.push(given);
    return textResult("done");
  },
});

async function hooksOf(event: string, ...texts: string[]): Promise<ToolHooks> {
  const handlers = await Promise.all(
    texts.map(async (text, nth) => {
      await writeFile(join(dir, `hook${nth}.ts`), text);
      return { event, module: `hook${nth}.ts` };
    }),
  );
  const file = { hooks: { internal: { handlers } } };
  const { config } = await loadConfig({ env: {}, home: dir, readFile: async () => JSON.stringify(file) });
  return toolHooks({ config, configPath: join(dir, "parley.json5"), clock, log });
}

const asked = (hooks: ToolHooks): Promise<string | null> =>
  hooks.before({ type: "toolCall", id: "c1", name: "exec", args }, tool, scope);

test("a before-hook blocks with its reason, and the first block counts", async () => {
  const hooks = await hooksOf(
    "tool:before",
    `export default () => {};`,
    `export default ({ context: { toolName, params } }) => ({ block: true, blockReason: toolName + " of " + params.command });`,
    `export default () => { throw new Error("not asked"); };`,
  );
  expect(await asked(hooks)).toContain("exec of ls");
  expect(errors).toEqual([]);
});

test("a before-hook that minds nothing changes nothing, not even the arguments", async () => {
  const hooks = await hooksOf(
    "tool:before",
    `export default ({ context }) => { context.params.command = "rm"; return { block: false }; };`,
    `export default () => ({ allow: true, params: { command: "rm" } });`,
  );
  expect(await asked(hooks)).toBeNull();
  expect(args).toEqual({ command: "ls" });
});

test.each([
  ["throws", `export default () => { throw new Error("broken"); };`],
  ["is no module", `export default (`],
  ["exports no function", `export const other = 1;`],
  ["returns nonsense", `export default () => "no";`],
  ["half blocks", `export default () => ({ block: "yes" });`],
])("a before-hook that %s blocks the call and is logged", async (_how, text) => {
  expect(await asked(await hooksOf("tool:before", text))).toContain("a check of the operator failed");
  expect(errors).toHaveLength(1);
});

test("a before-hook that never ends blocks the call", async () => {
  const hooks = await hooksOf(
    "tool:before",
    `export default () => { globalThis.hookIsAsked = true; return new Promise(() => {}); };`,
  );
  const answer = asked(hooks);
  await expect.poll(() => Reflect.get(globalThis, "hookIsAsked")).toBe(true);
  await clock.advance(15_001);
  expect(await answer).toContain("a check of the operator failed");
});

test("an after-hook is told the result; a broken one beside it is logged, and the result stays", async () => {
  Reflect.set(globalThis, "toldAfter", []);
  const hooks = await hooksOf(
    "tool:after",
    `export default () => { throw new Error("broken"); };`,
    `export default (event) => { globalThis.toldAfter.push(event); event.context.result.text = "other"; };`,
  );
  const result = await hooks
    .watched(tool)
    .run(args, { ...scope, callId: "c1", signal: new AbortController().signal });
  expect(result).toEqual(textResult("done"));
  await expect.poll(() => Reflect.get(globalThis, "toldAfter")).toHaveLength(1);
  expect(Reflect.get(globalThis, "toldAfter")).toMatchObject([
    { action: "after", context: { toolName: "exec", toolCallId: "c1" } },
  ]);
  expect(errors).toEqual(["a tool:after hook failed"]);
  expect(await asked(hooks)).toBeNull();
});

test("an after-hook is told all of the call, and of one that failed why, with how long it took; the failure stays", async () => {
  Reflect.set(globalThis, "toldAfter", []);
  const hooks = await hooksOf(
    "tool:after",
    `export default (event) => void globalThis.toldAfter.push(event);`,
  );
  const failing = hooks.watched({
    ...tool,
    run: async () => {
      await clock.advance(1_234);
      throw new Error("no such file");
    },
  });
  const call = { ...scope, callId: "c7", signal: new AbortController().signal };
  await expect(failing.run(args, call)).rejects.toThrow("no such file");
  await expect.poll(() => Reflect.get(globalThis, "toldAfter")).toHaveLength(1);
  const context = {
    toolName: "exec",
    params: args,
    toolCallId: "c7",
    turnId: "t1",
    agentId: "main",
    workspaceDir: "/w",
  };
  expect(Reflect.get(globalThis, "toldAfter")).toEqual([
    {
      type: "tool",
      action: "after",
      sessionKey: "agent:main:main",
      context: { ...context, result: { text: "no such file", isError: true }, durationMs: 1_234 },
    },
  ]);
  const refused = hooks.watched({
    ...tool,
    run: async () => ({
      content: [
        { type: "text", text: "one" },
        { type: "image", path: "a.png", mediaType: "image/png" },
      ],
      isError: true,
    }),
  });
  await refused.run(args, call);
  await expect.poll(() => Reflect.get(globalThis, "toldAfter")).toHaveLength(2);
  expect((Reflect.get(globalThis, "toldAfter") as readonly unknown[])[1]).toMatchObject({
    context: { result: { text: "one\n[image]", isError: true }, durationMs: 0 },
  });
  expect(errors).toEqual([]);
});

test("a before-hook is given all of the call as a copy, and a block without a reason says that there was none", async () => {
  Reflect.set(globalThis, "toldBefore", []);
  const hooks = await hooksOf(
    "tool:before",
    `export default (event) => void globalThis.toldBefore.push(event);`,
    `export default () => null;`,
    `export default () => ({ block: true, blockReason: "" });`,
  );
  expect(await asked(hooks)).toBe("Not run: a rule of the operator blocks it: no reason was given");
  expect(Reflect.get(globalThis, "toldBefore")).toEqual([
    {
      type: "tool",
      action: "before",
      sessionKey: "agent:main:main",
      context: {
        toolName: "exec",
        params: args,
        toolCallId: "c1",
        turnId: "t1",
        agentId: "main",
        workspaceDir: "/w",
      },
    },
  ]);
  expect(
    (Reflect.get(globalThis, "toldBefore") as { context: { params: unknown } }[])[0]?.context.params,
  ).not.toBe(args);
  expect(
    await asked(await hooksOf("tool:before", `export default () => ({ block: true, blockReason: 7 });`)),
  ).toContain("no reason was given");
  // Nothing waits any more for a hook that has ended.
  expect(clock.armed()).toBe(0);
});

test("a tool that nobody watches is the tool itself, and hooks that are switched off are none", async () => {
  expect((await hooksOf("tool:before", `export default () => {};`)).watched(tool)).toBe(tool);
  await writeFile(join(dir, "stop.ts"), `export default () => ({ block: true });`);
  const handlers = ["tool:before", "tool:after"].map((event) => ({ event, module: "stop.ts" }));
  const file = { hooks: { internal: { enabled: false, handlers } } };
  const { config } = await loadConfig({ env: {}, home: dir, readFile: async () => JSON.stringify(file) });
  const off = toolHooks({ config, configPath: join(dir, "parley.json5"), clock, log });
  expect([await asked(off), off.watched(tool) === tool]).toEqual([null, true]);
});
