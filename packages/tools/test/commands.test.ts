// The commands of a process, with time that only moves when it is moved: who sees which, what is kept of each
// and for how long, what is recorded when, and what their logs show.
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isFault, silentLog, systemIds, type Log, type SessionKey } from "@parley/protocol";
import { virtualClock, type VirtualClock } from "@parley/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aftermath } from "../src/exec/aftermath.ts";
import { processBegan } from "../src/exec/child.ts";
import { excerpt, openOutputFile, pruneLogs, since } from "../src/exec/output-file.ts";
import {
  actionHash,
  commandEnv,
  describeAction,
  openCommands,
  rooted,
  type CommandRecord,
  type Commands,
  type ExecAction,
} from "../src/index.ts";
import { deviceAction } from "../src/exec/exec-action.ts";
import { programName } from "../src/exec/program-name.ts";
import { markedPids } from "../src/process-group.ts";
import { hostPath } from "./stage.ts";

const mine = "agent:main:main" as SessionKey;
const theirs = "agent:main:telegram:dm:7" as SessionKey;
let root: string;
let clock: VirtualClock;
/** What was done with records, in order. */
let kept: string[];
let records: Map<string, CommandRecord>;
let logged: string[];
const line =
  (level: string) =>
  (fields: object, message: string): void =>
    void logged.push([level, message, JSON.stringify({ ...fields, err: undefined })].join("|"));
const log: Log = { ...silentLog, warn: line("warn"), error: line("error"), child: () => log };
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "parley-commands-")));
  clock = virtualClock();
  [kept, logged, records] = [[], [], new Map()];
});
afterEach(() => rm(root, { recursive: true, force: true }));
const open = (): Promise<Commands> =>
  openCommands(
    {
      records: {
        load: async () => [...records.values()],
        save: async (record) => {
          records.set(record.id, record);
          kept.push(`${record.state}${record.background ? " in the background" : ""}, code ${record.code}`);
        },
        remove: async (id) => {
          records.delete(id);
          kept.push("removed");
        },
      },
      onEnd: async ({ state, code, endedAtMs }) => void kept.push(`told: ${state} ${code} at ${endedAtMs}`),
      clock,
      ids: systemIds(),
      log,
    },
    (folder) => rooted({ root: folder }),
  );
const request = (command: string, more: Partial<Parameters<Commands["start"]>[0]> = {}) => ({
  session: mine,
  agent: "main",
  turn: "t1",
  command,
  owner: true,
  files: rooted({ root }),
  bound: [],
  timeoutMs: 1_000,
  argv: ["sh", "-c", command],
  cwd: root,
  env: { PATH: hostPath },
  pty: false,
  input: true,
  ...more,
});
const record = (id: string, more: Partial<CommandRecord> = {}): CommandRecord => ({
  id,
  session: mine,
  agent: "main",
  turn: "t",
  command: id,
  owner: true,
  root,
  log: `.parley/exec/${id}.log`,
  pid: 1,
  began: null,
  startedAtMs: 0,
  endedAtMs: clock.now(),
  state: "exited",
  code: 0,
  background: true,
  ...more,
});
const refusal = (error: unknown): string => {
  if (isFault(error)) return `${error.code}: ${error.message}`;
  throw error;
};

describe("a command", () => {
  test("in front is recorded while it runs, and no more when it is over", async () => {
    const commands = await open();
    const command = await commands.start(request("read x; echo out; exit 3", { turn: "t9", owner: false }));
    const { id, pid, began, log: path } = command.record;
    expect(records.get(id)).toEqual({
      ...record(id),
      turn: "t9",
      owner: false,
      command: "read x; echo out; exit 3",
      log: path,
      pid,
      began,
      startedAtMs: clock.now(),
      endedAtMs: null,
      state: "running",
      code: null,
      background: false,
    });
    expect([/^[a-hjkmnp-z2-9]{8}$/.test(id), path, began]).toEqual([
      true,
      `.parley/exec/${clock.now().toString(36)}-${id}.log`,
      expect.stringMatching(/^\d+$/),
    ]);
    // The number and the birth are those of the process itself.
    expect([pid === process.pid, await processBegan(pid)]).toEqual([false, began]);
    expect(await commands.list(mine)).toEqual([]);
    expect([await commands.get(mine, id), await commands.get(theirs, id)]).toEqual([command, null]);
    command.closeInput();
    await command.ended(60_000);
    expect([command.record.state, command.record.code, command.record.endedAtMs]).toEqual([
      "exited",
      3,
      clock.now(),
    ]);
    await command.kill();
    expect(kept).toEqual(["running, code null", "removed"]);
    expect(await readFile(join(root, path), "utf8")).toBe("out\n");
    expect([await commands.get(mine, id), records.size]).toEqual([null, 0]);
    for (const words of [() => command.write("x"), () => command.closeInput()])
      expect(words).toThrow(`the command ${id} is over: exited`);
  });

  test("in the background is recorded to its end, and its end is told after that, once", async () => {
    const commands = await open();
    const command = await commands.start(request("read x; exit 4"));
    await command.background();
    expect((await commands.list(mine)).map(({ id }) => id)).toEqual([command.record.id]);
    expect(await commands.list(theirs)).toEqual([]);
    await commands.forget(mine, command.record.id);
    await commands.end(theirs);
    expect(command.record.state).toBe("running");
    const start = clock.now();
    await clock.advance(900);
    command.write("x\n");
    await command.ended(60_000);
    await command.kill();
    await command.background();
    expect(kept).toEqual([
      "running, code null",
      "running in the background, code null",
      "exited in the background, code 4",
      `told: exited 4 at ${start + 900}`,
    ]);
    await commands.forget(theirs, command.record.id);
    expect([records.size, (await readdir(join(root, ".parley/exec"))).length]).toEqual([1, 1]);
    await commands.forget(mine, command.record.id);
    expect([records.size, await readdir(join(root, ".parley/exec")), kept.at(-1)]).toEqual([
      0,
      [],
      "removed",
    ]);
  });

  test("ends when its time is over and not before, by its own end where signals do not reach it", async () => {
    const commands = await open();
    const after = async () => "two files";
    const command = await commands.start(
      request("exec sleep 60", {
        ends: ["sh", "-c", `cd ${root} && echo $MARK > ended`],
        env: { PATH: hostPath, MARK: "m" },
        after,
      }),
    );
    await command.background();
    await clock.advance(999);
    expect([command.record.state, await readdir(root)]).toEqual(["running", [".parley"]]);
    await clock.advance(1);
    await command.ended(60_000);
    await command.kill();
    expect(command.record).toMatchObject({ state: "timed out", code: null });
    expect(kept.slice(-2)).toEqual([
      "timed out in the background, code null",
      `told: timed out null at ${clock.now()}`,
    ]);
    expect(await readFile(join(root, command.record.log), "utf8")).toBe("\n[two files]\n");
    while (!(await readdir(root)).includes("ended")) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(logged).toEqual([
      `warn|looked through what a command left behind|${JSON.stringify({ command: command.record.id, said: "two files" })}`,
    ]);
  });

  test("that leaves others behind with its output is waited for half a second, and then they end", async () => {
    const commands = await open();
    const left = await commands.start(request("sleep 60 & echo $!; exit 2", { timeoutMs: 600_000 }));
    await left.spoke(1_000);
    const child = Number((await readFile(join(root, left.record.log), "utf8")).trim());
    await expect.poll(() => clock.armed()).toBe(2);
    await clock.advance(499);
    expect([left.record.state, process.kill(child, 0)]).toEqual(["running", true]);
    await clock.advance(1);
    await left.ended(60_000);
    expect([left.record.state, left.record.code]).toEqual(["exited", 2]);
    await expect.poll(() => readdir("/proc")).not.toContain(String(child));
    await clock.advance(500);
    expect(clock.armed()).toBe(0);
  });

  test("takes along what left its group: at once when it is ended, half a second later when it ended itself", async () => {
    const commands = await open();
    const away = "setsid sleep 60 >/dev/null 2>&1 & echo $!;";
    const [killed, exited] = [
      await commands.start(request(`${away} exec sleep 60`, { timeoutMs: 600_000 })),
      await commands.start(request(`${away} read x`, { timeoutMs: 600_000 })),
    ];
    const child = async ({ record, ...command }: typeof killed): Promise<string> => {
      await command.spoke(1_000);
      return (await readFile(join(root, record.log), "utf8")).trim();
    };
    const [one, two] = [await child(killed), await child(exited)];
    for (const pid of [one, two])
      await expect.poll(() => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).toMatch(/^sleep/);
    const isGone = async (pid: string): Promise<boolean> => !(await readdir("/proc")).includes(pid);
    await killed.kill();
    await expect.poll(() => isGone(one)).toBe(true);
    exited.write("x\n");
    await exited.ended(60_000);
    await clock.advance(499);
    expect([exited.record.state, await isGone(two)]).toEqual(["exited", false]);
    await clock.advance(1);
    await expect.poll(() => isGone(two)).toBe(true);
  });

  test("that does not hear when it is asked to end is ended half a second later", async () => {
    const commands = await open();
    const script = "trap '' TERM; echo ready; while :; do read x || sleep 0.01; done";
    const deaf = await commands.start(request(script, { timeoutMs: 600_000 }));
    await deaf.spoke(1_000);
    const killed = deaf.kill();
    await clock.advance(499);
    expect(deaf.record.state).toBe("running");
    await clock.advance(1);
    await killed;
    await clock.advance(500);
    expect([deaf.record.state, deaf.record.code, clock.armed()]).toEqual(["killed", null, 0]);
  });

  test("that somebody ends while its end is written down ended as it had", async () => {
    const commands = await open();
    const ends = async (timeIsOver: boolean): Promise<unknown> => {
      const [begun, slow] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const after = async (): Promise<string> => {
        begun.resolve();
        await slow.promise;
        return "";
      };
      const command = await commands.start(request(timeIsOver ? "exec sleep 60" : "exit 3", { after }));
      if (timeIsOver) await clock.advance(1_000);
      await begun.promise;
      const killed = command.kill();
      slow.resolve();
      await killed;
      return [command.record.state, command.record.code];
    };
    expect([await ends(true), await ends(false)]).toEqual([
      ["timed out", null],
      ["exited", 3],
    ]);
  });

  test("of one session is ended with all of that session, or with all there are", async () => {
    const commands = await open();
    const [a, b, c] = [
      await commands.start(request("exec sleep 60", { bound: ["a.sh", "b.sh"] })),
      await commands.start(request("exec sleep 60", { session: theirs })),
      await commands.start(request("exec sleep 60", { bound: ["c.sh"] })),
    ];
    const bound = (): readonly (string | null)[] => [
      commands.boundTo(root, "b.sh"),
      commands.boundTo(root, "c.sh"),
      commands.boundTo(root, "d.sh"),
      commands.boundTo(`${root}/x`, "b.sh"),
    ];
    const states = (): readonly string[] => [a, b, c].map((each) => each.record.state);
    expect(bound()).toEqual([a.record.id, c.record.id, null, null]);
    await commands.end(mine);
    expect([states(), bound()]).toEqual([
      ["killed", "running", "killed"],
      [null, null, null, null],
    ]);
    await commands.end();
    expect([states(), [a, b, c].map((each) => each.record.code)]).toEqual([
      ["killed", "killed", "killed"],
      [null, null, null],
    ]);
  });

  test("makes room for its log before it starts: two hundred of others stay, the newest", async () => {
    const folder = join(root, ".parley/exec");
    await mkdir(folder, { recursive: true });
    for (let n = 0; n < 202; n += 1) await writeFile(join(folder, `k${String(n).padStart(3, "0")}.log`), "");
    const commands = await open();
    const command = await commands.start(request("exit 0"));
    const left = (await readdir(folder)).toSorted();
    const own = command.record.log.slice(".parley/exec/".length);
    expect([left.length, left.includes(own), left.includes("k001.log"), left.includes("k002.log")]).toEqual([
      201,
      true,
      false,
      true,
    ]);
    await command.ended(60_000);
  });

  test("that cannot be started leaves no record, no log and no timer", async () => {
    const commands = await open();
    expect(await commands.start(request("x", { argv: ["/none/at-all"] })).catch(refusal)).toBe(
      "invalid: /none/at-all cannot be started: ENOENT",
    );
    expect([kept, await readdir(join(root, ".parley/exec")), clock.armed()]).toEqual([[], [], 0]);
  });

  test("is waited for until it says more than was told, ends, or the time or the call is over", async () => {
    const commands = await open();
    const command = await commands.start(request("read a; echo $a; read b; exit 0", { timeoutMs: 600_000 }));
    let waits = 0;
    const waiting = (wait: Promise<void>): Promise<void> => {
      waits += 1;
      return wait.then(() => void (waits -= 1));
    };
    const stop = new AbortController();
    const [more, end, timed, stopped] = [
      waiting(command.spoke(100_000)),
      waiting(command.ended(100_000)),
      waiting(command.spoke(50)),
      waiting(command.ended(100_000, stop.signal)),
    ];
    await clock.advance(49);
    expect([waits, clock.armed()]).toEqual([4, 5]);
    await clock.advance(1);
    await timed;
    stop.abort();
    await stopped;
    // Only the two that still wait have a time, beside the command's own.
    expect([waits, clock.armed()]).toEqual([2, 3]);
    await command.spoke(100_000, stop.signal);
    command.write("out\n");
    await more;
    expect([waits, clock.armed()]).toEqual([1, 2]);
    await command.spoke(100_000);
    command.told = 4;
    const again = waiting(command.spoke(100_000));
    expect(waits).toBe(2);
    command.write("b\n");
    await Promise.all([again, end]);
    expect(waits).toBe(0);
    await Promise.all([command.spoke(100_000), command.ended(100_000)]);
    await clock.advance(500);
    expect(clock.armed()).toBe(0);
  });

  test("that has more processes than it may is ended, and says how many there were; as many as it may are let be", async () => {
    const commands = await open();
    const script = "sleep 60 & sleep 60 & wait";
    const [many, few] = await Promise.all([
      commands.start(request(script, { mostProcesses: 2, timeoutMs: 600_000 })),
      commands.start(request(script, { mostProcesses: 3, timeoutMs: 600_000 })),
    ]);
    for (const { record } of [many, few])
      await expect.poll(async () => (await markedPids(record.id)).length).toBe(3);
    await clock.advance(499);
    expect([many.record.state, clock.armed()]).toEqual(["running", 4]);
    await clock.advance(1);
    await many.ended(60_000);
    expect([many.record.state, few.record.state]).toEqual(["killed", "running"]);
    expect(await readFile(join(root, many.record.log), "utf8")).toBe(
      "\n[3 processes; ended, because more than 2 may not run]\n",
    );
    await few.kill();
    expect(few.record.state).toBe("killed");
    await clock.advance(1_000);
    expect(clock.armed()).toBe(0);
  });

  test("in one session is one of sixteen at most; another session has its own", async () => {
    const commands = await open();
    const many = (session: SessionKey) => commands.start(request("exec sleep 60", { session }));
    const all = await Promise.all(Array.from({ length: 15 }, () => many(mine)));
    await many(theirs);
    all.push(await many(mine));
    expect(await many(mine).catch(refusal)).toBe(
      "rate_limited: 16 commands run already; end one with process first",
    );
    await many(theirs);
    await all[3]?.kill();
    await many(mine);
    expect(await many(mine).catch(refusal)).toMatch(/^rate_limited: 16 /);
    await commands.end();
  });

  test("without input says so to whoever writes", async () => {
    const commands = await open();
    const command = await commands.start(request("exec sleep 60", { input: false }));
    expect(() => command.write("x")).toThrow("its input is not open; start it with background or pty");
    await command.kill();
  });
});

describe("commands that are over", () => {
  test("are the last fifty, of a day; what ran when the process died is lost", async () => {
    await mkdir(join(root, ".parley/exec"), { recursive: true });
    const day = 86_400_000;
    const start = clock.now();
    records = new Map(
      [
        record("front", { background: false }),
        record("old", { endedAtMs: start - day }),
        record("theirs", { session: theirs }),
        record("ran", { state: "running", endedAtMs: null, code: null }),
        ...Array.from({ length: 46 }, (_, n) => record(`e${n}`)),
      ].map((each) => [each.id, each]),
    );
    const commands = await open();
    expect(records.get("ran")).toEqual(record("ran", { state: "lost", endedAtMs: start, code: null }));
    const names = async (session: SessionKey): Promise<string> =>
      (await commands.list(session)).map(({ id }) => id).join(" ");
    const all = Array.from({ length: 46 }, (_, n) => `e${n}`);
    expect(await names(mine)).toBe(["old", "ran", ...all].join(" "));
    expect(await names(theirs)).toBe("theirs");
    await clock.advance(1);
    expect(await names(mine)).toBe(["ran", ...all].join(" "));
    expect([records.has("old"), records.has("front")]).toEqual([false, true]);
    const lost = (await commands.get(mine, "ran")) ?? expect.unreachable("it is listed");
    await Promise.all([lost.kill(), lost.background(), lost.ended(9), lost.spoke(9)]);
    expect(() => lost.write("x")).toThrow("the command ran is over: lost");
    expect(lost.bound).toEqual([]);
    // Two more than fifty: the two oldest go, of whatever session.
    for (const id of ["n1", "n2", "n3"]) records.set(id, record(id));
    const later = await open();
    expect((await later.list(mine)).map(({ id }) => id)).toEqual(["ran", ...all, "n1", "n2", "n3"]);
    expect([records.size, records.has("front"), records.has("theirs")]).toEqual([50, false, false]);
    await clock.advance(day);
    expect((await later.list(mine)).map(({ id }) => id)).toEqual(["n1", "n2", "n3"]);
    await clock.advance(1);
    expect(await later.list(mine)).toEqual([]);
    expect(records.size).toBe(0);
  });
});

describe("a log", () => {
  const put = async (text: string | Buffer): Promise<string> => {
    await mkdir(join(root, "l"), { recursive: true });
    await writeFile(join(root, "l/log"), text);
    return "l/log";
  };
  const files = () => rooted({ root });

  test("is shown whole as long as it fits, else three parts of its beginning and seven of its end", async () => {
    const path = await put("0123456789");
    expect(await excerpt(files(), path, 10)).toEqual({ text: "0123456789", total: 10, whole: true });
    await put("0123456789x");
    expect(await excerpt(files(), path, 10)).toEqual({
      text: "012\n[... 1 bytes left out ...]\n456789x",
      total: 11,
      whole: false,
    });
    expect(await excerpt(files(), "l/none", 10)).toBe(null);
    expect(await excerpt(files(), "../x", 10)).toBe(null);
    expect(await excerpt(files(), "l", 10)).toBe(null);
  });

  test("goes on from where it was told, with its last bytes where there are too many", async () => {
    const path = await put("0123456789");
    const rows = [
      [0, 10, "0123456789", true],
      [4, 6, "456789", true],
      [4, 5, "[... 1 bytes left out ...]\n56789", false],
      [0, 3, "[... 7 bytes left out ...]\n789", false],
      [10, 5, "", true],
      [99, 5, "", true],
    ] as const;
    for (const [from, bytes, text, whole] of rows)
      expect([from, bytes, await since(files(), path, from, bytes)]).toEqual([
        from,
        bytes,
        { text, total: 10, whole },
      ]);
    expect(await since(files(), "l/none", 0, 5)).toBe(null);
  });

  test("is shown without what moves a cursor, and with the last state of a line", async () => {
    const rows = [
      ["\u001b[1;31mred\u001b[0m\tx\n", "red\tx\n"],
      ["a\r\nb\r\n", "a\nb\n"],
      ["10%\r50%\r100%\nend", "100%\nend"],
      ["half\r", "half"],
      ["a\u0000b\u0007c\u0008d\u000be\u000cf\u001fg\u007fh", "abcdefgh"],
    ] as const;
    for (const [raw, text] of rows) expect((await excerpt(files(), await put(raw), 99))?.text).toBe(text);
  });

  test("takes what is written one after the other, and tells how much is there", async () => {
    const output = await openOutputFile(files(), "l/out");
    expect([output.path, output.bytes]).toEqual(["l/out", 0]);
    await Promise.all([output.write(Buffer.from("one ")), output.write(Buffer.from("two"))]);
    expect(output.bytes).toBe(7);
    await output.write(Buffer.alloc(0));
    await output.close();
    expect(await readFile(join(root, "l/out"), "utf8")).toBe("one two");
    await expect(output.write(Buffer.from("x"))).rejects.toThrow();
  });

  test("goes when there are more than two hundred: the oldest first", async () => {
    const folder = join(root, ".parley/exec");
    await pruneLogs(files());
    await mkdir(folder, { recursive: true });
    const name = (n: number): string => `k${String(n).padStart(3, "0")}.log`;
    for (let n = 199; n >= 0; n -= 1) await writeFile(join(folder, name(n)), "");
    await pruneLogs(files());
    expect((await readdir(folder)).length).toBe(200);
    for (const n of [200, 201]) await writeFile(join(folder, name(n)), "");
    await pruneLogs(files());
    const left = (await readdir(folder)).toSorted();
    expect([left.length, left[0], left.at(-1)]).toEqual([200, name(2), name(201)]);
    await rm(join(folder, name(2)));
    await mkdir(join(folder, "a-folder"));
    for (const n of [202, 203]) await writeFile(join(folder, name(n)), "");
    await pruneLogs(files());
    expect((await readdir(folder)).toSorted().slice(0, 2)).toEqual(["a-folder", name(4)]);
  });
});

test("what a command left behind is told, and so is that nobody could look", async () => {
  expect(await aftermath(undefined, "c1", log)).toBe("");
  expect(await aftermath(async () => "", "c1", log)).toBe("");
  expect(logged).toEqual([]);
  expect(await aftermath(async () => "said", "c1", log)).toBe("\n[said]\n");
  const failing = async (): Promise<string> => {
    throw new Error("disk");
  };
  expect(await aftermath(failing, "c2", log)).toBe("\n[Parley could not look through what it left behind]\n");
  expect(logged).toEqual([
    'warn|looked through what a command left behind|{"command":"c1","said":"said"}',
    'error|what a command left behind was not looked through|{"command":"c2"}',
  ]);
});

describe("what is asked of a person", () => {
  const action: ExecAction = {
    kind: "exec",
    argv: ["/usr/bin/env", "sh", "a b", "it's", ""],
    shell: false,
    parts: null,
    cwd: "/ws/a b",
    env: { B: "x y", A: "1" },
    sandbox: "bubblewrap, workspace rw, network off",
    interactive: true,
    files: [
      { path: "one.sh", sha256: "0123456789abcdef0" },
      { path: "two\n.sh", sha256: "fedcba9876543210f" },
    ],
    closed: false,
    outside: ["/etc/x", "a b"],
  };

  test("is all of an action, a line for each part of it", () => {
    expect(describeAction(action).split("\n")).toEqual([
      "run: /usr/bin/env sh 'a b' 'it'\\''s' ''",
      "in: /ws/a b",
      "with: B='x y'",
      "with: A=1",
      "sandbox: bubblewrap, workspace rw, network off",
      "it stays open for input that nobody is asked about",
      "out of the file tools' reach: /etc/x 'a b'",
      "file: one.sh as it is now (sha256 0123456789abcdef)",
      "file: two\\u{a}.sh as it is now (sha256 fedcba9876543210)",
      "other files: it may run some that are not named here",
    ]);
    const plain = { ...action, env: {}, interactive: false, outside: [], files: [] };
    const shell = { ...plain, argv: ["/bin/sh", "-c", "ls | wc"], shell: true, cwd: "/ws", sandbox: "none" };
    expect(describeAction(shell).split("\n")).toEqual([
      "shell: ls | wc",
      "in: /ws",
      "sandbox: none",
      "files: it may run files that are not named here",
    ]);
    expect(describeAction({ ...shell, closed: true }).split("\n")).toEqual([
      "shell: ls | wc",
      "in: /ws",
      "sandbox: none",
    ]);
    const there = deviceAction("Ann's\nphone (d1)", ["say", "a b"]);
    expect(describeAction(there)).toBe("run: say 'a b'\non the device: Ann's\\u{a}phone (d1)");
    expect(there).toEqual({
      kind: "exec",
      argv: ["say", "a b"],
      shell: false,
      parts: [["say", "a b"]],
      cwd: "device Ann's\nphone (d1)",
      env: {},
      sandbox: "device Ann's\nphone (d1)",
      interactive: false,
      files: [],
      closed: true,
      outside: [],
      device: "Ann's\nphone (d1)",
    });
  });

  test("is another question when any part of it is another, down to the second file and its name", () => {
    const [one, two] = action.files;
    if (one === undefined || two === undefined) return expect.unreachable("there are two");
    const others: readonly ExecAction[] = [
      { ...action, closed: true },
      { ...action, outside: ["/etc/x"] },
      { ...action, outside: [] },
      { ...action, files: [one] },
      { ...action, files: [one, { ...two, sha256: "f" }] },
      { ...action, files: [one, { ...two, path: "three" }] },
      { ...action, env: { ...action.env, A: "2" } },
      { ...action, argv: [...action.argv, ""] },
      deviceAction("a", action.argv),
      deviceAction("b", action.argv),
    ];
    expect(new Set([action, ...others].map(actionHash)).size).toBe(others.length + 1);
    expect(actionHash({ ...action, env: { A: "1", B: "x y" }, parts: [] })).toBe(actionHash(action));
  });
});

test("a model sets variables of a plain name and up to 32768 characters, and of no other", () => {
  const said = (asked: { readonly [name: string]: string }): string => {
    try {
      return Object.keys(commandEnv({}, {}, asked))[0] ?? "";
    } catch (error) {
      return refusal(error);
    }
  };
  const no = (name: string): string =>
    `denied: ${name} may not be set: it decides what programs load or where they look`;
  const long = "A".repeat(128);
  expect(said({ [long]: "x".repeat(32_768) })).toBe(long);
  expect(said({ [`${long}A`]: "x" })).toBe(`invalid: "${long}A" is no name of a variable`);
  expect(said({ A: "x".repeat(32_769) })).toBe("invalid: the value of A has a NUL or is too long");
  expect(said({ A: "\0" })).toBe("invalid: the value of A has a NUL or is too long");
  expect(said({ A: "1", "B C": "2" })).toBe('invalid: "B C" is no name of a variable');
  expect(said({ A: "1", PERL5LIB: "2" })).toBe(no("PERL5LIB"));
  for (const name of ["MY_PATH", "PATHS", "HOMES", "_", "a1", "MY_GIT_X", "NODE", "PROXY", "EDITORS", "XDG"])
    expect(said({ [name]: "x" })).toBe(name);
  for (const name of (
    "PATH HOME SHELL IFS ENV BASH_ENV BASH_FUNC_x SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND CDPATH TMPDIR LD_X DYLD_X GCONV_PATH " +
    "LOCPATH NODE_X NPM_CONFIG_X PYTHONX PERLX RUBYX GEM_X BUNDLE_X JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_X CLASSPATH GIT_X " +
    "SSH_X DOCKER_X XPAGER EDITOR VISUAL BROWSER LESSOPEN LESSCLOSE MANPAGER XDG_X X_PROXY PARLEY_X parley_command"
  ).split(" "))
    expect(said({ [name]: "x" })).toBe(no(name));
});

test("a program is one of the system where it lies in a folder of the system itself", () => {
  const rows = {
    "/usr/bin/ls": "ls",
    "/bin/sh": "sh",
    "/usr/local/bin/x": "x",
    "/usr/local/sbin/x": "x",
    "/usr/sbin/x": "x",
    "/sbin/x": "x",
    "/opt/homebrew/bin/x": "x",
    "/usr/bin/deep/ls": null,
    "/usr/bin/../bin/ls": null,
    "/home/me/bin/ls": null,
    ls: null,
    "bin/ls": null,
    "/ls": null,
  };
  expect(Object.fromEntries(Object.keys(rows).map((path) => [path, programName(path)]))).toEqual(rows);
});
