// The processes of hooks: what a handler is given and what is taken from it, when its process is used again,
// and what one that hangs, throws or dies costs.
import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HookEvent } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { hookProcesses, type HookProcesses } from "../../src/hooks/hook-process.ts";

let folder: string;
let processes: HookProcesses;
let clock: ReturnType<typeof virtualClock>;
let said: string[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-hook-"));
  clock = virtualClock({ startMs: 1_700_000_000_000 });
  said = [];
  processes = hookProcesses({
    clock,
    log: {
      info: ({ hook, said: line }: { hook: string; said: string }) => said.push(`${hook}: ${line}`),
    } as never,
  });
});
afterEach(async () => {
  processes.close();
  await rm(folder, { recursive: true });
});

async function hook(name: string, code: string, more: object = {}) {
  const handler = join(folder, `${name}.mjs`);
  await writeFile(handler, code);
  return {
    name,
    file: join(folder, name, "HOOK.md").replace(`${name}/HOOK.md`, `${name}.md`),
    handler,
    exportName: "default",
    ...more,
  } as never;
}
const event = (context: object = {}): HookEvent =>
  ({ type: "command", action: "new", sessionKey: "agent:main:main", id: "e1", context }) as never;
const env = { OWN: "mine", PATH: process.env["PATH"] };

test("a handler has the event, its own variables and no other, and what it leaves behind is taken in bounds", async () => {
  const everything = await hook(
    "everything",
    `export const run = (event) => {
      const { type, action, sessionKey, timestamp, context } = event;
      console.log("hello", process.env.OWN, process.env.HOME ?? "none");
      console.error("x".repeat(2000));
      event.messages.push(" ", 7, "first", "y".repeat(5000), ...Array.from({ length: 20 }, (_, n) => "m" + n));
      context.seen = [type, action, sessionKey, timestamp.toISOString(), context.a];
      return [1, "two"];
    };`,
    { exportName: "run" },
  );
  const { messages, context, returned } = await processes.call(everything, env, event({ a: 1 }), 5_000);
  expect(messages).toEqual(["first", "y".repeat(4_000), ...Array.from({ length: 8 }, (_, n) => `m${n}`)]);
  expect(context).toEqual({
    a: 1,
    seen: ["command", "new", "agent:main:main", "2023-11-14T22:13:20.000Z", 1],
  });
  expect(returned).toEqual([1, "two"]);
  await expect
    .poll(() => said.toSorted())
    .toEqual(["everything: hello mine none", `everything: ${"x".repeat(1_000)}`]);
  const talks = await hook("talks", 'export default () => console.log("line\\n".repeat(1_001));');
  await processes.call(talks, env, event(), 5_000);
  await expect.poll(() => said.filter((line) => line === "talks: line").length).toBe(1_000);
});

test("a process is used again until its module or its variables change, or it rested for a minute", async () => {
  const code =
    "let calls = 0; export default (event) => { event.context.seen = [process.pid, (calls += 1)]; return 7; };";
  const counts = await hook("counts", code);
  const seen = async (variables: NodeJS.ProcessEnv = env) => {
    const { context, ...rest } = await processes.call(counts, variables, event(), 5_000);
    expect(rest).toEqual({ messages: [] });
    return context["seen"] as readonly [number, number];
  };
  const [first, one] = await seen();
  await clock.advance(59_999);
  expect([one, await seen()]).toEqual([1, [first, 2]]);
  await clock.advance(59_999);
  expect(await seen()).toEqual([first, 3]);
  await clock.advance(60_000);
  const [second, afterRest] = await seen();
  expect([second === first, afterRest]).toEqual([false, 1]);
  const [third, ofOthers] = await seen({ ...env, MORE: "1" });
  expect([third === second, ofOthers]).toEqual([false, 1]);
  await utimes(join(folder, "counts.mjs"), 1, 1);
  const [fourth, anew] = await seen({ ...env, MORE: "1" });
  expect([fourth === third, anew]).toEqual([false, 1]);
});

test("a process that is called again before its minute is over works on as long as it takes", async () => {
  const go = join(folder, "go");
  const slow = await hook(
    "slow",
    `import { existsSync } from "node:fs";
    export default async ({ context }) => {
      while (context.waits && !existsSync(${JSON.stringify(go)})) await new Promise((done) => setTimeout(done, 5));
      context.pid = process.pid;
    };`,
  );
  const pid = async (waits: boolean) =>
    (await processes.call(slow, env, event({ waits }), 300_000)).context["pid"];
  const first = await pid(false);
  await clock.advance(59_999);
  const waiting = pid(true);
  await clock.advance(120_000);
  await writeFile(go, "");
  expect(await waiting).toBe(first);
});

test("what throws says why, in short; what hangs is killed with its process, and others that wait in it are told", async () => {
  const odd = await hook(
    "odd",
    `export default async ({ context }) => {
      if (context.how === "hang") await new Promise(() => setInterval(() => {}, 1000));
      if (context.how === "die") process.exit(3);
      if (context.how === "long") throw new Error("z".repeat(2000));
      if (context.how === "word") throw "just a word";
      context.pid = process.pid;
      context.call = context.how === "function" ? () => {} : undefined;
    };`,
  );
  const call = (how: string, limitMs = 60_000) =>
    processes.call(odd, env, event({ how }), limitMs).then(
      ({ context }) => context,
      ({ code, message }: { readonly code: string; readonly message: string }) => `${code}: ${message}`,
    );
  expect([await call("long"), await call("word")]).toEqual([
    `invalid: ${"z".repeat(1_000)}`,
    "invalid: just a word",
  ]);
  const { pid } = (await call("function")) as { readonly pid: number };
  const waiting = call("hang", 50_000);
  const hangs = call("hang", 5_000);
  await clock.advance(4_999);
  expect((await call("fine")) as object).toMatchObject({ pid });
  await clock.advance(1);
  expect([await hangs, await waiting]).toEqual([
    "unavailable: it took longer than 5000 ms",
    "invalid: its process was killed, because another event took it too long",
  ]);
  const next = (await call("fine")) as { readonly pid: number };
  expect(next.pid).not.toBe(pid);
  expect(await call("die")).toBe("invalid: its process ended");
  expect(await call("fine")).toMatchObject({ how: "fine" });
  const nameless = await hook("nameless", "export const other = 1;");
  await expect(processes.call(nameless, env, event(), 60_000)).rejects.toThrow(
    'it exports no function "default"',
  );
  processes.close();
  expect(await call("fine")).toBe("aborted: the gateway stops");
});
