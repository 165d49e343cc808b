// The agent's hands over the wire: fake Telegram -> daemon -> fake model that calls tools -> real files and
// processes.
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { lacks, program, type ModelAnswer, type ModelCall } from "@parley/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lookAt } from "../crash/store-look.ts";
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

const me = 4242;
const owned = { commands: { ownerAllowFrom: [`telegram:${me}`] } };

/** Calls the tools in turn, then says what the last one answered. */
function calling(...calls: readonly (readonly [string, object])[]): (call: ModelCall) => ModelAnswer {
  let next = 0;
  return ({ lastToolResult }) => {
    const call = calls[next];
    next += 1;
    return call === undefined
      ? `done: ${lastToolResult ?? ""}`
      : { toolCalls: [{ name: call[0], args: { ...call[1] } }] };
  };
}

async function homeWith(files: { readonly [path: string]: string }): Promise<string> {
  const home = await freshHome();
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(home, "workspace", path, ".."), { recursive: true });
    await writeFile(join(home, "workspace", path), text);
  }
  return home;
}

/** What the model was told by each of its tools. */
function results(): readonly string[] {
  return w.models
    .requests()
    .flatMap(({ lastToolResult }) => (lastToolResult === null ? [] : [lastToolResult]));
}

describe("files", () => {
  test("are read, edited, patched and written where the workspace is", async () => {
    const home = await homeWith({ "notes/a.txt": "one\ntwo\n" });
    await w.start({ home });
    w.models.reply(
      calling(
        ["read", { path: "notes/a.txt" }],
        ["edit", { path: "notes/a.txt", edits: [{ oldText: "two", newText: "three" }] }],
        ["apply_patch", { input: "*** Begin Patch\n*** Add File: notes/b.txt\n+fresh\n*** End Patch" }],
        ["write", { path: "c.txt", content: "written" }],
        ["read", { path: "../parley.json5" }],
      ),
    );
    w.telegram.as(me).says("work on my notes");
    const [answer] = await w.answered(me, 1);
    expect(results()[0]).toContain("1\tone");
    expect(await readFile(join(home, "workspace/notes/a.txt"), "utf8")).toBe("one\nthree\n");
    expect(await readFile(join(home, "workspace/notes/b.txt"), "utf8")).toBe("fresh\n");
    expect(await readFile(join(home, "workspace/c.txt"), "utf8")).toBe("written");
    // The state folder is out of reach.
    expect(answer).not.toContain("botToken");
    expect(results().at(-1)).toMatch(/outside|denied|not in/i);
  });
});

describe("commands", () => {
  test("on the allowlist run; others are not run without a person, and nobody is asked here", async () => {
    const home = await homeWith({ "a.txt": "alpha\n" });
    const daemon = await w.start({ home, config: { tools: { exec: { allowlist: ["cat"], ask: "off" } } } });
    w.models.reply(
      calling(
        ["exec", { command: ["cat", "a.txt"] }],
        ["exec", { command: "touch made.txt" }],
        ["process", { action: "list" }],
      ),
    );
    w.telegram.as(me).says("look");
    await w.answered(me, 1);
    expect(results()[0]).toContain("alpha");
    expect(results()[1]).toMatch(/^Not run: \S*touch is not on the allowlist/);
    expect(results()[2]).toBe("No background commands in this session.");
    expect(existsSync(join(home, "workspace/made.txt"))).toBe(false);
    expect(await daemon.stop()).toBe(0);
  });
});

describe.skipIf(lacks(program("bwrap")))("a sandbox", () => {
  test("holds commands and files: the workspace is inside, the state folder is not", async () => {
    const home = await homeWith({ "a.txt": "alpha\n" });
    await w.start({
      home,
      config: {
        agents: {
          defaults: { model: { primary: "fake/m1" }, sandbox: { mode: "all", workspaceAccess: "rw" } },
        },
        tools: { exec: { mode: "full" } },
      },
    });
    const state = join(home, "parley.json5");
    w.models.reply(
      calling(
        [
          "exec",
          {
            command: `cat a.txt; echo made > b.txt; cat ${state} 2>&1; bash -c 'exec 3<>/dev/tcp/127.0.0.1/${w.telegram.url.split(":").at(-1)}' 2>&1`,
          },
        ],
        ["read", { path: "b.txt" }],
        ["read", { path: state }],
      ),
    );
    w.telegram.as(me).says("work inside");
    await w.answered(me, 1);
    const [ran, read, refused] = results();
    expect(ran).toContain("alpha");
    expect(ran).not.toContain("botToken");
    expect(ran).toMatch(/No such file|Permission denied/);
    expect(ran).toMatch(/refused|unreachable/i);
    expect(read).toContain("made");
    expect(await readFile(join(home, "workspace/b.txt"), "utf8")).toBe("made\n");
    expect(refused).not.toContain("botToken");
    expect(w.models.requests()[0]?.system).toMatch(/sandbox/i);
  });
});

describe("a command in the background", () => {
  const background = (script: string): ((call: ModelCall) => ModelAnswer) => {
    return ({ lastUserText, lastToolResult }) => {
      if (lastUserText.includes("Background command")) return `told: ${lastUserText}`;
      return lastToolResult === null
        ? { toolCalls: [{ name: "exec", args: { command: script, background: true } }] }
        : "it runs";
    };
  };
  const full = { tools: { exec: { mode: "full" } } };

  test("tells its session when it ends, where it was started", async () => {
    await w.start({ config: full });
    w.models.reply(background("sleep 0.3; echo finished"));
    w.telegram.as(me).says("start it");
    const [first, second] = await w.answered(me, 2);
    expect(first).toBe("it runs");
    expect(second).toMatch(/told: \[System Message\] Background command \w+ exited with code 0 after \d s/);
  });

  test("is told to be lost after a kill, once; after /stop it is gone and nothing is told", async () => {
    const daemon = await w.start({ config: full });
    w.models.reply(background("sleep 3517"));
    w.telegram.as(me).says("start it");
    await w.answered(me, 1);
    // Once its receipt is recorded nothing is sent again.
    await eventually(() => lookAt(daemon.home).openDeliveries === 0);
    daemon.kill("SIGKILL");
    await daemon.exited;
    const again = await w.start({ home: daemon.home, config: full });
    expect((await w.answered(me, 2))[1]).toMatch(/Background command \w+ was lost/);
    w.telegram.as(7).says("start it");
    await w.answered(7, 1);
    w.telegram.as(7).says("/stop");
    expect((await w.answered(7, 2))[1]).toBe("Stopped.");
    await again.stop();
    await w.start({ home: daemon.home, config: full });
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect([w.answers(me).length, w.answers(7).length]).toEqual([2, 2]);
  });
});

describe("the session's own tools", () => {
  test("tell the model and the time, and keep a plan", async () => {
    await w.start({ config: owned });
    w.models.reply(
      calling(
        ["update_plan", { plan: [{ step: "look around", status: "in_progress" }] }],
        ["session_status", {}],
      ),
    );
    w.telegram.as(me).says("plan it");
    const [answer] = await w.answered(me, 1);
    expect(results()[0]).toBe("Plan kept: 0 of 1 steps done.");
    expect(answer).toContain("Model: fake/m1 (the default)");
    expect(answer).toContain("Plan, in progress: look around");
    expect(answer).toMatch(/Time: \w+day/);
  });
});

describe("the policy", () => {
  test("takes tools away by profile, sender and place, and what is gone cannot be called", async () => {
    await w.start({
      config: { tools: { profile: "coding", toolsBySender: { "telegram:7": { deny: ["group:runtime"] } } } },
    });
    w.models.reply(({ lastUserText, lastToolResult }) =>
      lastToolResult === null && lastUserText === "run"
        ? { toolCalls: [{ name: "exec", args: { command: ["true"] } }] }
        : `so: ${lastToolResult}`,
    );
    w.telegram.as(7).says("run");
    expect((await w.answered(7, 1))[0]).toMatch(/There is no tool "exec"/);
    const names = w.models.requests()[0]?.body["tools"] as { function: { name: string } }[];
    expect(names.map((tool) => tool.function.name).toSorted()).toEqual([
      "apply_patch",
      "ask_user",
      "cron",
      "edit",
      "memory_get",
      "memory_search",
      "read",
      "session_status",
      "sessions_history",
      "sessions_list",
      "sessions_send",
      "sessions_spawn",
      "subagents",
      "update_plan",
      "write",
    ]);
  });

  test("that leaves nothing leaves the talk: the model is asked without tools, and /tools says which rule it was", async () => {
    await w.start({ config: { tools: { allow: ["telepathy"] } } });
    w.models.reply("just talk");
    w.telegram.as(me).says("hello");
    expect((await w.answered(me, 1))[0]).toBe("just talk");
    expect(w.models.requests()[0]?.tools).toEqual([]);
    expect(w.models.requests()[0]?.system).toContain("No tools are available in this session");
    w.telegram.as(me).says("/tools");
    expect((await w.answered(me, 2))[1]).toMatch(/no tool is left: .* taken away by tools does not allow it/);
  });

  test("tells a group's model of the same tools whoever asks, and refuses an owner's tool to others", async () => {
    const club = -100200;
    w.telegram.group({ id: club });
    const telegram = {
      ...(w.config["channels"] as { telegram: object }).telegram,
      groupPolicy: "open",
      groups: { "*": { requireMention: false } },
    };
    await w.start({ config: { ...owned, channels: { telegram } } });
    w.models.reply(({ lastToolResult }) =>
      lastToolResult === null
        ? { toolCalls: [{ name: "gateway", args: { action: "config.get", path: "agents" } }] }
        : `so: ${lastToolResult}`,
    );
    w.telegram.as(me).says("look", { chat: club });
    expect((await w.answered(club, 1))[0]).toMatch(/^so: \{/);
    w.telegram.as(7).says("look", { chat: club });
    expect((await w.answered(club, 2))[1]).toMatch(/whoever asked may not use "gateway" here: only owners/);
    const told = w.models.requests().map(({ body }) => JSON.stringify(body["tools"]));
    expect(told[0]).toContain('"gateway"');
    expect(new Set(told).size).toBe(1);
  });
});
