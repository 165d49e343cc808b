// Commands that look at a conversation or act beside it: what they say, to whom, and that they leave no
// trace.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { stage, type Person, type Stage, type StageOptions } from "./stage.ts";
import { waitTool } from "./wait-tool.ts";

let s: Stage;
afterEach(() => s.close());

const lane = "agent:main:telegram:dm:olga";

async function begin(options: StageOptions = {}): Promise<Person> {
  s = await stage({
    ...options,
    config: { commands: { ownerAllowFrom: ["telegram:olga"] }, ...options.config },
  });
  return s.person("olga");
}

describe("/btw", () => {
  test("is answered from the conversation, while a turn runs, and leaves no trace", async () => {
    const tool = waitTool(() => s.clock, 60_000);
    const olga = await begin({ tools: [tool.tool] });
    s.model.answers(({ text, messages }) => {
      if (text.includes("beside the conversation"))
        return `side: ${JSON.stringify(messages[0]).includes("blue") ? "blue" : "?"}`;
      return text === "work" ? { calls: { name: "wait", args: {} } } : `re: ${text}`;
    });
    await olga.says("the sky is blue").gets("re: the sky is blue");
    olga.says("work");
    await s.until(() => tool.starts() === 1, "the tool's start");
    await olga.says("/btw which colour?").gets("💭 side: blue");
    expect(s.model.asked.at(-1)?.request.toolChoice).toBe("none");
    await s.until(() => s.pools().turnsRunning() === 0, "the end of the turn");
    expect(JSON.stringify(await s.transcript(lane))).not.toContain("which colour");
    expect(await s.store().cells.list("btw:", 10)).toEqual([]);
    await expect(await s.trace()).toMatchFileSnapshot("traces/side-question.txt");
  });

  test("knows what a summary left word for word", async () => {
    const compaction = { keepRecentTokens: 1_000, memoryFlush: { enabled: false } };
    const olga = await begin({ config: { agents: { defaults: { compaction } } } });
    s.model.answers(({ text, messages }) => {
      if (text.includes("CONVERSATION")) return "Old things were told.";
      return text.includes("beside the conversation")
        ? `side: ${JSON.stringify(messages).includes("blue") ? "blue" : "?"}`
        : "ok";
    });
    for (const words of ["old ".repeat(3_000), "the sky is blue"]) await olga.says(words).gets("ok");
    await olga.says("/compact").gets(/ompacted/);
    await olga.says("/btw which colour?").gets("💭 side: blue");
    expect(s.model.asked.at(-1)?.users[0]).toMatch(/^Summary of .*Old things were told/s);
  });

  test("a process that dies leaves it to the next one, and it is answered once", async () => {
    const olga = await begin();
    s.model.answers(() => ({ afterMs: 20_000, says: ["yes"] }));
    olga.says("/btw sure?");
    await s.until(() => s.model.asked.length === 1, "the call");
    await s.kill();
    await s.start();
    await olga.gets("💭 yes");
    await s.pass(60_000);
    expect(olga.sees()).toEqual(["💭 yes"]);
  });

  test("it is one at a time, and not beyond the spending limit", async () => {
    const olga = await begin({
      config: { agents: { list: [{ id: "main", spend: { dayTokens: 1 } }] } },
    });
    s.model.answers(() => ({ afterMs: 5_000, says: ["first"] }));
    olga.says("/side one");
    await s.until(() => s.model.asked.length === 1, "the call");
    await olga.says("/side two").gets("One question at a time: I am still at the last one.", "💭 first");
    await olga.says("/btw three").gets(/^💭 Today's spending limit is reached/);
    expect(s.model.asked).toHaveLength(1);
  });
});

describe("/steer", () => {
  test.each(["collect", "interrupt", "followup"])(
    "joins the running turn in the queue mode %s",
    async (mode) => {
      const tool = waitTool(() => s.clock, 20_000);
      const olga = await begin({
        tools: [tool.tool],
        config: { messages: { queue: { mode, debounceMs: 0 } } },
      });
      s.model.answers(({ text, messages }) =>
        text === "work" && messages.at(-1)?.role !== "tool"
          ? { calls: { name: "wait", args: {} } }
          : `re: ${text}`,
      );
      olga.says("work");
      await s.until(() => tool.starts() === 1, "the tool's start");
      olga.says("/steer use the other file");
      await olga.gets("re: use the other file");
      expect(tool.starts()).toBe(1);
      expect((await s.transcript(lane)).map(({ type }) => type)).toEqual([
        "user",
        "assistant",
        "toolResult",
        "user",
        "assistant",
      ]);
    },
  );

  test("overtakes nothing that waits before it", async () => {
    const tool = waitTool(() => s.clock, 20_000);
    const olga = await begin({
      tools: [tool.tool],
      config: { messages: { queue: { mode: "collect", debounceMs: 0 } } },
    });
    s.model.answers(({ text, messages }) =>
      text === "work" && messages.at(-1)?.role !== "tool"
        ? { calls: { name: "wait", args: {} } }
        : `re: ${text}`,
    );
    olga.says("work");
    await s.until(() => tool.starts() === 1, "the tool's start");
    olga.says("later");
    olga.says("/tell and this");
    await olga.gets("re: work", /later[^]*and this/);
  });

  test("without words it says how, and without a running turn it is a message", async () => {
    const olga = await begin();
    await olga.says("/steer").gets("Usage: /steer your words.");
    await olga.says("/steer hello").gets("re: hello");
  });
});

describe("/verbose", () => {
  async function working(level: string): Promise<Person> {
    const olga = await begin({ catalogue: true });
    await mkdir(join(s.home, "workspace"), { recursive: true });
    await writeFile(join(s.home, "workspace", "plan.md"), `the plan is ${"long ".repeat(400)}`);
    s.model.answers(({ messages }) =>
      messages.at(-1)?.role === "tool" ? "read it" : { calls: { name: "read", args: { path: "plan.md" } } },
    );
    if (level !== "") await olga.says(`/verbose ${level}`).gets(/^Tool calls are/);
    return olga;
  }
  const shown = (who: Person): readonly string[] =>
    who.sees().filter((text) => !text.startsWith("Tool calls"));

  test.each(["", "off"])("tool calls are not shown by default, nor with %j", async (level) => {
    const olga = await working(level);
    await olga.says("look").gets("read it");
    expect(shown(olga)).toEqual(["read it"]);
  });

  test("on: each call with short arguments, once, before the answer, also over deaths", async () => {
    const olga = await working("on");
    olga.says("look");
    for (let life = 0; life < 6; life += 1) {
      await s.pass(life * 3);
      await s.kill();
      await s.start();
    }
    await s.until(() => olga.sees().includes("read it"), "the answer");
    expect(shown(olga)).toEqual([expect.stringMatching(/^🛠️ read path: plan\.md$/), "read it"]);
    await expect(await s.trace()).toMatchFileSnapshot("traces/verbose.txt");
  });

  test("full: the beginning of the result too", async () => {
    const olga = await working("full");
    await olga.says("look").gets(/^🛠️ read/, /^↩️ read\s[^]{0,40}the plan is long[^]{0,600}$/, "read it");
    await olga.says("/verbose").gets(/^Tool calls are shown here, with short arguments and the beginning/);
    await olga.says("/verbose loud").gets("Usage: /verbose on|off|full.");
    await olga.says("/verbose off").gets("Tool calls are not shown here.");
  });

  test("in a group only an owner sets it", async () => {
    await begin({
      config: {
        commands: { ownerAllowFrom: ["telegram:olga"] },
        channels: {
          telegram: {
            botToken: "1:x",
            groupPolicy: "open",
            groups: { "*": { requireMention: false } },
            pacing: "off",
            streaming: "off",
          },
        },
      },
    });
    const address = { channel: "telegram", account: "default", kind: "group", peer: "-5" } as const;
    for (const [who, answer] of [
      ["eve", "Only an owner may set that here."],
      ["olga", "Tool calls are shown here, with short arguments. From the next message on."],
    ] as const) {
      s.person(who, { chat: "-5" }).says("/verbose on", { address, id: `telegram:default:${who}` });
      await s.until(() => s.telegram.shown("-5").at(-1) === answer, answer);
    }
  });
});

test("/name names the conversation until it is taken off", async () => {
  const olga = await begin();
  await olga.says("/name").gets("This conversation has no name. Usage: /name WORDS.");
  await olga.says("/name Taxes of\nthis year").gets('This conversation is "Taxes of this year" now.');
  await olga.says("/name").gets('Its name is "Taxes of this year".');
  expect((await s.store().sessions.open(lane as never)).fields["name"]).toBe("Taxes of this year");
  await olga.says("/name off").gets("This conversation has no name now.");
});

test("/agents tells an owner all agents and anybody else the one that answers", async () => {
  const olga = await begin({
    config: { agents: { list: [{ id: "main" }, { id: "helper" }] } },
  });
  await olga.says("/agents").gets(/^main: \S+ - answers here\nhelper: \S+$/);
  await s
    .person("mia")
    .says("/agents")
    .gets(/^main: \S+ - answers here$/);
});

test("/commands lists every command once, by group, and owners' only to owners", async () => {
  const olga = await begin();
  olga.says("/commands");
  await s.until(() => olga.sees().length === 1, "the list");
  const all = olga.sees()[0] ?? "";
  expect(all).toContain("Conversation\n/new");
  expect(all).toContain("/export_session");
  const names = [...all.matchAll(/^\/(\w+) - /gm)].map(([, name]) => name);
  expect(new Set(names).size).toBe(names.length);
  const mia = s.person("mia");
  mia.says("/commands");
  await s.until(() => mia.sees().length === 1, "the list");
  expect(mia.sees()[0]).not.toContain("/export_session");
});

test("/tasks lists sub-agents that work, and says when nothing does", async () => {
  const olga = await begin({ catalogue: true });
  s.model.answers(({ text, users, messages }) => {
    if (users[0]?.includes("Task from session") === true) return { afterMs: 600_000, says: ["done"] };
    return text === "go" && messages.at(-1)?.role !== "tool"
      ? { calls: { name: "sessions_spawn", args: { task: "dig", label: "digger" } } }
      : "spawned";
  });
  await olga.says("/tasks").gets("Nothing works for this conversation now.");
  await olga.says("go").gets("spawned");
  await olga.says("/tasks").gets(/^🤖 \w+-1 digger: running, agent main/);
});

describe("/export_session", () => {
  test("sends an owner the transcript as two files, and nobody else", async () => {
    const kept = new Map<string, string>();
    const olga = await begin({
      mediaFolder: {
        async keep(bytes, extension) {
          kept.set(extension, Buffer.from(bytes).toString());
          return `${extension}.${extension}`;
        },
      },
    });
    await olga.says("hello <b>").gets("re: hello <b>");
    olga.says("/export");
    await s.until(
      () => s.telegram.sent("olga").filter(({ part }) => part.kind === "media").length === 2,
      "files",
    );
    const files = s.telegram.sent("olga").flatMap(({ part }) => (part.kind === "media" ? part.files : []));
    expect(files.map(({ name }) => name)).toEqual(["session.jsonl", "session.html"]);
    expect(kept.get("html")).toContain("hello &lt;b&gt;");
    const lines = (kept.get("jsonl") ?? "").trim().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual(["user", "assistant"]);
    expect(olga.sees()).toContain("2 entries of this conversation, without secrets.");
    const mia = s.person("mia");
    await mia.says("/export_session").gets(/^\/export_session is for owners\./);
    await expect(await s.trace()).toMatchFileSnapshot("traces/export.txt");
  });

  test("a full disk is told and holds nothing up", async () => {
    const olga = await begin();
    await olga.says("hello").gets("re: hello");
    await olga.says("/export_session").gets(/^⚠️ The files could not be written/);
    await olga.says("still there?").gets("re: still there?");
  });
});
