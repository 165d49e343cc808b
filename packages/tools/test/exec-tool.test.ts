// What the tool exec asks of the commands and of a sandbox, word for word, over commands that are no real
// ones: what is started where, what is watched meanwhile, who is asked, and what is said of each end.
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "@parley/protocol";
import { afterEach, expect, test } from "vitest";
import {
  actionHash,
  type Commands,
  type ExecAction,
  type ExecPolicy,
  type Sandbox,
  type ToolContext,
} from "../src/index.ts";
import { exec } from "../src/tools/exec.ts";
import { memoryOrigins } from "./memory-origins.ts";
import { full, made, scopeOf, session, stage, type Stage } from "./stage.ts";

type Asked = Parameters<Commands["start"]>[0];
type Ran = Awaited<ReturnType<Commands["start"]>>;

const stages: Stage[] = [];
afterEach(async () => {
  for (const each of stages.splice(0)) await each.close();
});

interface Played {
  readonly it: Stage;
  readonly started: Asked[];
  /** What was done with the command after its start. */
  readonly did: string[];
  run(args: object, more?: Partial<ToolContext>, signal?: AbortSignal): Promise<string>;
}

/** A stage whose commands are written down; `record` says what each came to. */
async function played(
  record: object = { state: "exited", code: 0, startedAtMs: 1_000, endedAtMs: 1_000 },
  options: Parameters<typeof stage>[0] = {},
  { onWait = () => undefined }: { readonly onWait?: () => void } = {},
): Promise<Played> {
  const it = await stage(options);
  stages.push(it);
  const started: Asked[] = [];
  const did: string[] = [];
  const command = (request: Asked): Ran => {
    const heard = (signal?: AbortSignal) => (signal?.aborted === false ? "and hears a stop" : "deaf");
    return {
      record: { id: "c1", log: ".parley/exec/c1.log", ...record },
      files: request.files,
      set told(bytes: number) {
        did.push(`told ${bytes}`);
      },
      ended: async (ms: number, signal?: AbortSignal) => {
        did.push(`waits ${ms} ${heard(signal)}`);
        onWait();
      },
      background: async () => void did.push("background"),
      kill: async () => void did.push("killed"),
    } as unknown as Ran;
  };
  const commands = {
    start: async (request: Asked) => {
      started.push(request);
      return command(request);
    },
  } as unknown as Commands;
  return {
    it,
    started,
    did,
    async run(args, more = {}, signal) {
      const { context } = it;
      const ports = { ...context.exec, ...more.exec, commands } as NonNullable<ToolContext["exec"]>;
      const tool = made(exec({ ...context, ...more, exec: ports }));
      const parsed = tool.parse(args as never);
      if (!parsed.ok) return parsed.reason;
      const scope = { ...scopeOf(it.workspace, signal), turn: "t7", env: { SKILL: "s" } };
      return tool.run(parsed.args, scope).then(
        ({ content, isError }) =>
          `${isError === true ? "error: " : ""}${content.map((part) => (part.type === "text" ? part.text : "")).join("")}`,
        ({ code, message }: Fault) => `${code}: ${message}`,
      );
    },
  };
}

test("on the host a command is started in the folder that was opened, with its words, values and time", async () => {
  const { it, started, did, run } = await played(undefined, { exec: { timeoutSeconds: 60 } });
  await mkdir(join(it.workspace, "sub"));
  expect(
    await run({
      command: ["/bin/echo", "a b", "\u202e"],
      workdir: "sub",
      env: { A: "1" },
      timeoutSeconds: 9,
    }),
  ).toBe("[exit code 0, 0.0 s]");
  await run({ command: "echo $A", background: true });
  await run({ command: "top", pty: true, workdir: "sub", yieldMs: 20 }, { owner: false });
  const { env, ...first } = started[0] ?? expect.unreachable("it was started");
  expect(first).toEqual({
    session,
    agent: "main",
    turn: "t7",
    command: "/bin/echo a b \\u{202e}",
    owner: true,
    files: it.context.files.own,
    bound: [],
    argv: ["/bin/echo", "a b", "\u202e"],
    ends: undefined,
    mostProcesses: undefined,
    cwd: expect.stringMatching(/^\/proc\/self\/fd\/\d+\/\.$/),
    pty: false,
    input: false,
    timeoutMs: 9_000,
  });
  expect(env).toMatchObject({ A: "1", SKILL: "s", HOME: it.outside, TERM: "dumb" });
  expect(env).not.toHaveProperty("SECRET_TOKEN");
  expect(started.slice(1)).toMatchObject([
    { command: "echo $A", argv: ["/bin/sh", "-c", "echo $A"], pty: false, input: true, timeoutMs: 60_000 },
    { command: "top", owner: false, cwd: join(it.workspace, "sub"), pty: true, input: false },
  ]);
  expect(did).toEqual([
    "waits 10000 and hears a stop",
    "background",
    "background",
    "waits 20 and hears a stop",
    "background",
  ]);
});

test("what a dead process had begun to change is finished before a command looks at it, where it may be", async () => {
  const { it, started, run } = await played();
  const steps = [{ path: "made.txt", draft: ".parley-draft-1-1", expects: null }];
  await mkdir(join(it.workspace, ".parley/changes"), { recursive: true });
  await writeFile(join(it.workspace, ".parley-draft-1-1"), "whole");
  await writeFile(join(it.workspace, ".parley/changes/1-1.commit"), JSON.stringify({ steps }));
  const names = async (): Promise<readonly string[]> => (await readdir(it.workspace)).toSorted();
  await run({ command: ["/bin/ls"] }, { files: { ...it.context.files, readOnly: true } });
  expect([started.length, await names()]).toEqual([1, [".parley", ".parley-draft-1-1"]]);
  await run({ command: ["/bin/ls"] });
  expect([started.length, await names()]).toEqual([2, [".parley", "made.txt"]]);
});

test("a sandbox gets the command as it was asked, and what it makes of it is started, with its end and its bound", async () => {
  const { it, started, run } = await played();
  const wrapped: unknown[] = [];
  const box = (more: Partial<Sandbox>): Partial<ToolContext> => ({
    sandbox: {
      kind: "bubblewrap",
      rules: "boxed",
      workspace: it.workspace,
      readOnly: false,
      scratch: false,
      inside: "/workspace",
      path: "/usr/bin:/bin",
      wrap: ({ env, ...command }) => {
        wrapped.push({ ...command, A: env["A"] });
        return { argv: ["box", ...command.argv], env: { IN: "1" }, ends: ["end", "it"], mostProcesses: 7 };
      },
      ...more,
    },
  });
  await mkdir(join(it.workspace, "sub"));
  await writeFile(join(it.workspace, "SOUL.md"), "soul");
  const call = { command: ["/bin/ls", "x"], env: { A: "1" } };
  await run({ ...call, workdir: "sub" }, box({ scratch: true }));
  await run({ ...call, background: true }, box({ readOnly: true }));
  const [own, reader] = started.splice(0);
  expect(own).toMatchObject({
    argv: ["box", "/bin/ls", "x"],
    env: { IN: "1" },
    ends: ["end", "it"],
    mostProcesses: 7,
    cwd: "/",
  });
  expect([await own?.after?.(), await reader?.after?.()]).toEqual(["", ""]);
  const plain = { argv: ["/bin/ls", "x"], pty: false, A: "1" };
  const guarded = { readOnly: [], masked: [], all: false };
  expect(wrapped.splice(0)).toEqual([
    { ...plain, cwd: "sub", input: false, guarded: { ...guarded, readOnly: [".parley"] } },
    { ...plain, cwd: "", input: true, guarded },
  ]);
  // Two at once: where mounts go by name the second one writes nothing, and says so.
  const views = async (kind: "bubblewrap" | "docker"): Promise<unknown> => {
    for (const _ of [1, 2]) await run(call, box({ kind }));
    const said = [];
    for (const { after } of started.splice(0)) said.push(await after?.());
    return [wrapped.splice(0).map((each) => (each as { guarded: { all: boolean } }).guarded.all), said];
  };
  const note = "the workspace was read-only for it, because another command runs in it";
  expect([await views("bubblewrap"), await views("docker")]).toEqual([
    [
      [false, false],
      ["", ""],
    ],
    [
      [false, true],
      ["", note],
    ],
  ]);
});

test("a stranger's command on the host is watched until its end, also where it never began; an owner's is not", async () => {
  const origins = memoryOrigins();
  const { it, started, run } = await played(undefined, { context: { origins, promptPaths: ["notes"] } });
  const ls = { command: ["/bin/ls"] };
  await run(ls);
  await run(ls, { owner: false, origins: undefined as never });
  expect([origins.watches.size, started.map(({ after }) => after)]).toEqual([0, [undefined, undefined]]);
  for (const speakers of [["telegram:42", "discord:7"], []]) await run(ls, { owner: false, speakers });
  const origin = { session, owner: false, sandboxed: false };
  expect([...origins.watches.values()]).toMatchObject([
    { root: it.workspace, alsoPrompt: ["notes"], origin: { ...origin, who: "telegram:42, discord:7" } },
    { root: it.workspace, alsoPrompt: ["notes"], origin: { ...origin, who: "somebody" } },
  ]);
  for (const { after } of started) expect((await after?.()) ?? "").toBe("");
  expect(origins.watches.size).toBe(0);
  const failing = { start: () => Promise.reject(new Fault("invalid", "it cannot be started")) };
  const context = { ...it.context, owner: false, exec: { ...it.context.exec, commands: failing } };
  const tool = made(exec(context as unknown as ToolContext));
  const parsed = tool.parse(ls);
  await expect(tool.run(parsed.ok ? parsed.args : null, scopeOf(it.workspace))).rejects.toThrow(
    "it cannot be started",
  );
  await expect.poll(() => origins.watches.size).toBe(0);
});

test("who may approve is asked with the action, its hash and the call; a refusal asks nobody", async () => {
  const asked: (readonly [ExecAction, string, string])[] = [];
  const policy: ExecPolicy = { ...full, mode: "allowlist", ask: "on-miss" };
  let answer = false;
  const approved = async (action: ExecAction, hash: string, { callId }: { readonly callId: string }) => {
    asked.push([action, hash, callId]);
    return answer;
  };
  const { it, started, run } = await played();
  await writeFile(join(it.workspace, "a.sh"), "node x.js\n");
  await writeFile(join(it.workspace, "b.sh"), "ls\n");
  const ports = (more: object): Partial<ToolContext> =>
    ({ exec: { ...it.context.exec, policy, approved, ...more } }) as unknown as Partial<ToolContext>;
  const call = { command: ["/bin/sh", "a.sh", "b.sh"] };
  const shown = [
    "run: /bin/sh a.sh b.sh",
    `in: ${it.workspace}`,
    "sandbox: none",
    expect.stringMatching(/^file: a\.sh as it is now \(sha256 [0-9a-f]{16}\)$/),
    expect.stringMatching(/^file: b\.sh as it is now \(sha256 [0-9a-f]{16}\)$/),
    "other files: it may run some that are not named here",
  ];
  const unlisted = "/bin/sh is not on the allowlist";
  const lines = async (more: object): Promise<readonly string[]> =>
    (await run(call, ports(more))).split("\n");
  expect(await lines({})).toEqual([
    `error: Not run: it needs a person's approval, which it does not have: ${unlisted}.`,
    ...shown,
  ]);
  expect(await lines({ approved: undefined })).toEqual([
    `error: Not run: it needs a person's approval, which it does not have: ${unlisted}.`,
    ...shown,
  ]);
  expect(asked.map(([action, hash, callId]) => [hash === actionHash(action), callId])).toEqual([
    [true, "c1"],
  ]);
  expect(await lines({ policy: { ...policy, ask: "off" } })).toEqual([
    `error: Not run: ${unlisted}, and nobody is asked (tools.exec.ask is "off").`,
    ...shown,
  ]);
  expect([asked.length, started.length]).toEqual([1, 0]);
  answer = true;
  expect(await lines({})).toEqual(["[exit code 0, 0.0 s]"]);
  expect(started.map(({ bound }) => bound)).toEqual([["a.sh", "b.sh"]]);
});

test("what is said of each end, what is kept of its output, and what a stop does", async () => {
  const log = ".parley/exec/c1.log";
  const end = async (record: object, output: string | null, args: object = {}, resultBytes = 8_192) => {
    const own = await played({ startedAtMs: 1_000, endedAtMs: 3_449, ...record });
    await mkdir(join(own.it.workspace, ".parley/exec"), { recursive: true });
    if (output !== null) await writeFile(join(own.it.workspace, log), output);
    const said = await own.run({ command: ["/bin/true"], ...args }, { resultBytes });
    const left = await readdir(join(own.it.workspace, ".parley/exec"));
    return [said, left.length, own.did.filter((each) => each.startsWith("told")).join()];
  };
  const going = `[goes on in the background as c1; its end will be told. All output: ${log}]`;
  expect([
    await end({ state: "exited", code: 0 }, "out\n"),
    await end({ state: "exited", code: 3 }, "no end of line"),
    await end({ state: "exited", code: null }, ""),
    await end({ state: "killed", code: null }, null),
    await end({ state: "timed out", code: null, endedAtMs: 3_450 }, "a\n\n"),
    await end({ state: "running", endedAtMs: null }, "so far\n"),
    await end({ state: "running", endedAtMs: null }, null, { background: true }),
    await end({ state: "exited", code: 0 }, "0123456789".repeat(10), {}, 400),
    await end({ state: "exited", code: 0 }, `${"0123456789".repeat(10)}!`, {}, 400),
  ]).toEqual([
    ["out\n[exit code 0, 2.4 s]", 0, ""],
    ["no end of line\n[exit code 3, 2.4 s]", 0, ""],
    ["[ended by a signal, 2.4 s]", 0, ""],
    ["[killed, 2.4 s]", 0, ""],
    ["a\n\n[timed out, 2.5 s]", 0, ""],
    [`so far\n${going}`, 1, "told 7"],
    [going, 0, "told 0"],
    [`${"0123456789".repeat(10)}\n[exit code 0, 2.4 s]`, 0, ""],
    [
      `${"0123456789".repeat(3)}\n[... 1 bytes left out ...]\n${"1234567890".repeat(7).slice(0, 69)}!\n[exit code 0, 2.4 s] All 101 bytes of output: ${log}`,
      1,
      "",
    ],
  ]);
  const stop = new AbortController();
  const meanwhile = { onWait: () => stop.abort() };
  const { started, did, run } = await played({ state: "running" }, {}, meanwhile);
  expect(await run({ command: ["/bin/true"] }, {}, stop.signal)).toBe("aborted: stopped while it ran");
  expect(did).toEqual(["waits 10000 and hears a stop", "killed"]);
  expect(await run({ command: ["/bin/true"] }, {}, stop.signal)).toContain("aborted");
  expect([started.length, did.length]).toEqual([1, 2]);
});
