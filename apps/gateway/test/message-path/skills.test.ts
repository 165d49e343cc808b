// Skills through the message path: what the prompt is told, how people call them, what a command for a tool
// does, and what its turn is given.
import { knownCommands } from "../../src/commands/parse-command.ts";
import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "@parley/config";
import type { SessionKey } from "@parley/protocol";
import { defineTool, textResult, type Tool } from "@parley/tools";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { skillRegistry, type SkillRegistry } from "@parley/runner";
import { stage, type Stage } from "./stage.ts";

let s: Stage;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-skills-"));
});
afterEach(async () => {
  await s.close();
  await rm(folder, { recursive: true, force: true });
});

async function skill(name: string, front = "", body = "Do it well."): Promise<string> {
  const file = join(folder, "skills", name, "SKILL.md");
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, `---\nname: ${name}\ndescription: Does ${name}.\n${front}\n---\n${body}\n`);
  return file;
}

const seen: { readonly env: unknown; readonly args: unknown }[] = [];
const tool = (name: string, args: z.ZodType, effect: Tool["effect"] = "reads"): Tool =>
  defineTool({
    name,
    summary: name,
    description: name,
    effect,
    args,
    run: async (given, { env }) => {
      seen.push({ env, args: given });
      return textResult(`${name}: ${JSON.stringify(given)}`);
    },
  });
const read = tool("read", z.object({ path: z.string() }));
const echo = tool("echo", z.object({ text: z.string() }), "writes");
const exec = tool("exec", z.object({ command: z.string(), skillName: z.string().optional() }), "writes");

const inGroup = (peer: string) => ({
  address: { channel: "telegram", account: "default", kind: "group", peer } as const,
});

let book: SkillRegistry;
async function on(
  options: { readonly tools?: readonly Tool[]; readonly config?: object; readonly telegram?: object } = {},
): Promise<void> {
  seen.length = 0;
  s = await stage({
    tools: options.tools ?? [read, echo, exec],
    config: options.config === undefined ? {} : { ...options.config },
    ...(options.telegram === undefined ? {} : { telegram: options.telegram }),
    skills: (config: Config) =>
      (book = skillRegistry({
        config,
        home: folder,
        bundled: join(folder, "none"),
        env: { PATH: "/usr/bin:/bin", EMPTY_KEY: "" },
        userHome: "/nowhere",
        platform: "linux",
        reservedCommands: knownCommands(),
      })),
  });
}

async function prompt(): Promise<string> {
  const session = await s.store().sessions.open("agent:main:telegram:dm:alice" as SessionKey);
  return (await s.core().turnPreparer.prompt({ agent: "main", session, place: null })).compiled.text;
}

describe("the prompt", () => {
  test("lists what may be used, and a change on disk is there with the next turn, without reading the others again", async () => {
    const one = await skill("one");
    await skill("two", "disable-model-invocation: true");
    await skill("three", "metadata: {parley: {requires: {bins: [no-such-program]}}}");
    await skill("two-and-a-half", "metadata: {parley: {requires: {env: [EMPTY_KEY]}}}");
    await on();
    const before = await prompt();
    expect(before).toContain(
      `<name>one</name>\n    <description>Does one.</description>\n    <location>${one}</location>`,
    );
    expect(before).not.toMatch(/<name>(?:two|three)/);
    const reads = book.reads();
    expect(await prompt()).toBe(before);
    expect(book.reads()).toBe(reads);
    await writeFile(one, "---\nname: one\ndescription: Does something else.\n---\n");
    await skill("four");
    expect(await prompt()).toMatch(/four[\s\S]*Does something else\./);
    expect(book.reads()).toBe(reads + 2);
    await utimes(one, 1, 1);
    await rm(join(folder, "skills", "four"), { recursive: true });
    expect(await prompt()).not.toContain("four");
  });

  test("has no list where there is no read tool", async () => {
    await skill("one");
    await on({ tools: [echo] });
    expect(await prompt()).not.toContain("available_skills");
  });
});

describe("/skill", () => {
  test("hands the skill and the words to the agent, as does the skill's own command", async () => {
    const file = await skill("water-plants");
    await on();
    const alice = s.person("alice");
    const words = `Use the "water-plants" skill for this request: read its SKILL.md at ${file} first, then follow it.\n\nUser input:\nthe ferns`;
    await alice.says("/skill water-plants the ferns").gets(`re: ${words}`);
    await alice.says("/water_plants the ferns").gets(`re: ${words}`);
    await alice
      .says("/skill Water_Plants")
      .gets(/^re: Use the "water-plants" skill for this request: read .* follow it\.$/);
    const rows = await s.rows();
    expect(rows.map((row) => row.outcome)).toEqual(["answered", "answered", "answered"]);
  });

  test("lists what there is, and says when there is no such skill", async () => {
    await skill("one");
    await skill("hidden", "user-invocable: false");
    await on();
    const alice = s.person("alice");
    const list = "Use one with /skill NAME and what you want:\n/one - Does one.";
    await alice.says("/skill").gets(list);
    await alice.says("/skill hidden").gets(`There is no skill hidden here.\n${list}`);
    // What is quoted back stays in its quotes.
    await alice.says("/skill hid`d``en").gets(`There is no skill hid d en here.\n${list}`);
    await alice.says("/hidden").gets("re: /hidden");
    await alice.says("/no_such_thing at all").gets("re: /no_such_thing at all");
  });

  test("gives the agent the skill's words where it has no tool to read them", async () => {
    await skill("one", "", "Look into {baseDir}/table.md.");
    await on({ tools: [echo] });
    await s
      .person("alice")
      .says("/skill one now")
      .gets(
        new RegExp(
          `^re: Use the "one" skill for this request\\. Its SKILL\\.md says:[\\s\\S]*Look into ${join(folder, "skills", "one")}/table\\.md\\.[\\s\\S]*now$`,
        ),
      );
  });

  test("takes no name that is a command already, and calls in a group without a mention", async () => {
    await skill("status");
    await skill("new");
    // A directive of Parley's own: a skill that took its name would hide it.
    await skill("think");
    await on();
    const menu = await s.core().commands.menu({ channel: "telegram", account: "default" });
    const names = menu.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["skill", "think", "status_2", "new_2", "think_2"]));
    expect(new Set(names).size).toBe(names.length);
    expect(names.every((name) => /^[a-z0-9_]{1,32}$/.test(name))).toBe(true);
  });

  test("a hundred and twenty skills leave the menu its own commands, and /skill reaches them all", async () => {
    for (let n = 100; n < 220; n += 1) await skill(`s${n}`);
    await on();
    const names = (await s.core().commands.menu({ channel: "telegram", account: "default" })).map(
      ({ name }) => name,
    );
    expect(names).toHaveLength(100);
    expect(names).toEqual(
      expect.arrayContaining(["stop", "new", "status", "skill", "s100"].filter((name) => name !== "status")),
    );
    await s
      .person("alice")
      .says("/skill s219 go")
      .gets(/^re: Use the "s219" skill/);
  });
});

describe("a command for a tool", () => {
  test("runs the tool with the raw words, asks no model, and says what the tool said", async () => {
    await skill("loud", "command-dispatch: tool\ncommand-tool: echo");
    await skill("shell", "command-dispatch: tool\ncommand-tool: exec\ncommand-arg-mode: raw");
    await on();
    const alice = s.person("alice");
    await alice.says('/loud  say "this" --as is').gets('echo: {"text":"say \\"this\\" --as is"}');
    await alice.says("/skill shell ls -l | wc").gets('exec: {"command":"ls -l | wc","skillName":"shell"}');
    expect(s.model.asked).toHaveLength(0);
    const entries = await s.transcript("agent:main:telegram:dm:alice");
    expect(entries.map((entry) => entry.type)).toEqual([
      "user",
      "assistant",
      "toolResult",
      "assistant",
      "user",
      "assistant",
      "toolResult",
      "assistant",
    ]);
    await alice.says("and now you").gets("re: and now you");
  });

  test("reaches no tool that the agent has not got there", async () => {
    await skill("loud", "command-dispatch: tool\ncommand-tool: echo");
    await on({ telegram: { groups: { "-100": { tools: { allow: ["read"] } } } } });
    await s
      .person("alice", { chat: "-100" })
      .says("/loud hello", inGroup("-100"))
      .gets(/^There is no tool "echo"\. The tools are: read\.$/);
    expect(seen).toHaveLength(0);
  });

  test("prints nothing that could act as the agent's own word", async () => {
    await skill("loud", "command-dispatch: tool\ncommand-tool: say");
    const say = defineTool({
      name: "say",
      summary: "say",
      description: "say",
      effect: "reads",
      args: z.object({ text: z.string() }),
      run: async ({ text }) => textResult(text),
    });
    await on({ tools: [say] });
    const alice = s.person("alice");
    await alice.says("/loud NO_REPLY").gets(/NO_REPLY/);
    await alice.says("/loud [[reply_to:1]] x").gets(/\[\[reply_to:1\]\] x/);
  });

  test("is a turn of its own: what is said meanwhile waits for the next", async () => {
    await skill("slow", "command-dispatch: tool\ncommand-tool: wait");
    const { waitTool } = await import("./wait-tool.ts");
    const wait = waitTool(() => s.clock, 5_000);
    await on({ tools: [wait.tool] });
    const alice = s.person("alice");
    alice.says("/slow");
    await s.until(() => wait.starts() === 1, "the tool's start");
    alice.says("meanwhile");
    await s.pass(10_000);
    expect(alice.sees().at(-1)).toBe("re: meanwhile");
    expect(s.model.asked.map(({ text }) => text)).toEqual(["meanwhile"]);
  });

  test("killed while the tool runs: it is not run again, and the person is told", async () => {
    await skill("slow", "command-dispatch: tool\ncommand-tool: wait");
    const { waitTool } = await import("./wait-tool.ts");
    const wait = waitTool(() => s.clock, 5_000);
    await on({ tools: [wait.tool] });
    const alice = s.person("alice");
    alice.says("/slow");
    await s.until(() => wait.starts() === 1, "the tool's start");
    await s.kill();
    await s.start();
    await alice.gets(/^Outcome unknown/);
    expect(wait.starts()).toBe(1);
  });

  test("of a skill that went away before its turn runs nothing", async () => {
    await skill("slow", "command-dispatch: tool\ncommand-tool: wait");
    await skill("loud", "command-dispatch: tool\ncommand-tool: echo");
    const { waitTool } = await import("./wait-tool.ts");
    const wait = waitTool(() => s.clock, 5_000);
    await on({ tools: [wait.tool, echo] });
    const alice = s.person("alice");
    alice.says("/slow");
    await s.until(() => wait.starts() === 1, "the tool's start");
    alice.says("/loud hello");
    await s.until(async () => (await s.rows()).length === 2, "the command is accepted");
    await rm(join(folder, "skills", "loud"), { recursive: true });
    await s.pass(10_000);
    expect(alice.sees().at(-1)).toBe("The skill loud may no longer be used here.");
    expect(seen).toHaveLength(0);
  });
});

describe("what the operator gives a skill", () => {
  const config = {
    skills: {
      entries: {
        one: { apiKey: "key-one-123", env: { ONE_MODE: "fast" } },
        two: { env: { TWO_TOKEN: "tok-two-123" } },
        THREE: { enabled: false, env: { X: "1" } },
      },
    },
  };

  test("is there for the processes of its turn: of skills that may be used, and of one that was called", async () => {
    await skill("one", "metadata: {parley: {primaryEnv: ONE_KEY, requires: {env: [ONE_KEY]}}}");
    await skill("two", "disable-model-invocation: true");
    await skill("three");
    await on({ config });
    s.model.answers(({ messages }) =>
      messages.at(-1)?.role === "tool" ? "done" : { calls: { name: "echo", args: { text: "x" } } },
    );
    const alice = s.person("alice");
    await alice.says("hello").gets("done");
    await alice.says("/skill two").gets("done");
    const one = { ONE_MODE: "fast", ONE_KEY: "key-one-123" };
    expect(seen.map(({ env }) => env)).toEqual([one, { ...one, TWO_TOKEN: "tok-two-123" }]);
    expect(process.env).not.toHaveProperty("ONE_KEY");
  });

  test("goes with the skill: not where the place or the agent leaves the skill out", async () => {
    await skill("one", "metadata: {parley: {primaryEnv: ONE_KEY}}");
    await on({
      config: { ...config, agents: { list: [{ id: "main", skills: ["ONE"] }] } },
      telegram: { groups: { "-100": { skills: [] }, "-200": { skills: ["one"] }, "-300": { skills: [] } } },
    });
    s.model.answers(({ messages }) =>
      messages.at(-1)?.role === "tool" ? "done" : { calls: { name: "echo", args: { text: "x" } } },
    );
    await s.person("alice", { chat: "-100" }).says("hello", inGroup("-100")).gets("done");
    await s.person("alice", { chat: "-200" }).says("hello", inGroup("-200")).gets("done");
    expect(seen.map(({ env }) => Object.keys(env as object))).toEqual([[], ["ONE_MODE", "ONE_KEY"]]);
    await s
      .person("carol", { chat: "-300" })
      .says("/skill one", inGroup("-300"))
      .gets("There are no skills here.");
  });

  test("is not there for an agent that may use none", async () => {
    await skill("one", "metadata: {parley: {primaryEnv: ONE_KEY}}");
    await on({ config: { ...config, agents: { defaults: { skills: [] } } } });
    expect(await prompt()).not.toContain("available_skills");
    await s.person("alice").says("/one").gets("re: /one");
  });
});
