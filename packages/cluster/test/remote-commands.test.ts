// Commands of another node, in virtual time: what is asked of it, how often, and what is made of its answers
// or its silence.
import { silentLog, type Log, type SessionKey } from "@parley/protocol";
import type { Command, CommandRecord, Commands, Rooted } from "@parley/tools";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { commandsOfNodes } from "../src/remote-commands.ts";
import { buses } from "./buses.ts";

const [mine, theirs] = ["agent:main:main" as SessionKey, "agent:main:telegram:dm:1" as SessionKey];

function record(id: string, more: Partial<CommandRecord> = {}): CommandRecord {
  return {
    id,
    session: mine,
    agent: "main",
    turn: "t",
    command: id,
    root: "/work",
    log: `${id}.log`,
    pid: 1,
    began: null,
    startedAtMs: 1,
    endedAtMs: null,
    state: "running",
    code: null,
    background: true,
    owner: true,
    ...more,
  };
}

/** This node with its own commands, the records of all, and what another one hears. */
function stage(own: readonly CommandRecord[], far: readonly CommandRecord[]) {
  const clock = virtualClock();
  const keyOf = ({ session, id }: CommandRecord): string => `${session} ${id}`;
  const all = new Map([...own, ...far].map((each) => [keyOf(each), each]));
  const did: string[] = [];
  const heard: string[] = [];
  const logged: string[] = [];
  let bytes: number | Error = 0;
  const [here, there] = buses(2);
  if (here === undefined || there === undefined) throw new Error("two buses were asked for");
  there.hear("commands", (text) => void heard.push(`${clock.mono()} ${text}`));
  const command = (of: CommandRecord): Command =>
    ({
      record: of,
      kill: async () => void did.push(`kill ${of.id}`),
      write: (text: string) => void did.push(`write ${of.id} ${text}`),
      closeInput: () => void did.push(`close ${of.id}`),
    }) as unknown as Command;
  const ofOwn = (session: SessionKey, id: string): CommandRecord | undefined =>
    own.find((each) => each.session === session && each.id === id);
  const line =
    (level: string) =>
    (_fields: object, message: string): void =>
      void logged.push(`${level}: ${message}`);
  const log: Log = { ...silentLog, info: line("info"), warn: line("warn") };
  const commands = commandsOfNodes({
    own: {
      list: async (session: SessionKey) => own.filter((each) => each.session === session),
      async get(session: SessionKey, id: string) {
        const found = ofOwn(session, id);
        return found === undefined ? null : command(found);
      },
      forget: async (session: SessionKey, id: string) => void did.push(`forget ${session} ${id}`),
      async end(session?: SessionKey) {
        did.push(`end ${session ?? "all"}`);
        if (session === theirs) throw new Error("no such session");
      },
    } as unknown as Commands,
    records: async () => [...all.values()],
    filesAt: (root) =>
      ({
        root,
        withFile: async (_path: string, look: (file: { size: number }) => Promise<number>) => {
          if (bytes instanceof Error) throw bytes;
          return look({ size: bytes });
        },
      }) as unknown as Rooted,
    bus: here,
    clock,
    log,
  });
  return {
    clock,
    commands,
    ask: (word: object) => there.tell("commands", JSON.stringify(word)),
    since: (): readonly string[] => heard.splice(0),
    did: (): readonly string[] => did.splice(0),
    logged,
    put: (of: CommandRecord) => void all.set(keyOf(of), of),
    drop: (id: string) => void all.delete(keyOf(record(id))),
    says: (what: typeof bytes) => void (bytes = what),
  };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a command of the same name that another session began says nothing of this one", async () => {
  const ended = record("x", { session: theirs, state: "exited", code: 3, endedAtMs: 7 });
  const { commands } = stage([], [ended, record("x")]);
  const found = await commands.get(mine, "x");
  await found?.ended(0);
  expect(found?.record).toEqual(record("x"));
});

test("all of a session's commands are listed by their start; of other nodes only those in the background", async () => {
  const { commands } = stage(
    [record("a", { startedAtMs: 5, background: false }), record("other", { session: theirs })],
    [
      record("b", { startedAtMs: 2 }),
      record("c", { startedAtMs: 9 }),
      record("front", { background: false }),
      record("d", { session: theirs }),
    ],
  );
  expect((await commands.list(mine)).map(({ id }) => id)).toEqual(["b", "a", "c"]);
});

test("what another node asks is done to what it means, and nothing it asks wrong ends this node", async () => {
  const { ask, did, logged } = stage([record("a"), record("b", { session: theirs })], []);
  ask({ ask: "kill", session: mine, id: "a" });
  ask({ ask: "write", session: mine, id: "a", text: "hi" });
  ask({ ask: "write", session: mine, id: "a" });
  ask({ ask: "close", session: theirs, id: "b" });
  ask({ ask: "kill", session: mine, id: "b" });
  ask({ ask: "kill", session: mine });
  ask({ ask: "kill", id: "a" });
  ask({ ask: "forget", session: mine, id: "a" });
  ask({ ask: "end", session: mine });
  ask({ ask: "end" });
  await settle();
  expect(did()).toEqual([
    `forget ${mine} a`,
    `end ${mine}`,
    "end all",
    "kill a",
    "write a hi",
    "write a ",
    "close b",
  ]);
  ask({ ask: "end", session: theirs });
  await settle();
  expect(logged).toEqual(["info: what another node asked of a command was not done"]);
});

test("a command of another node is spoken to over there, as long as it runs", async () => {
  const { commands, since, put } = stage([record("a")], [record("far")]);
  expect((await commands.get(mine, "a"))?.record.id).toBe("a");
  expect([await commands.get(theirs, "far"), await commands.get(mine, "none")]).toEqual([null, null]);
  const far = await commands.get(mine, "far");
  far?.write("hi");
  far?.closeInput();
  await commands.forget(mine, "gone");
  const word = (ask: string, more: object = {}): string =>
    `0 ${JSON.stringify({ ask, ...more, session: mine, id: "far" })}`;
  expect(since()).toEqual([
    word("write", { text: "hi" }),
    word("close"),
    `0 ${JSON.stringify({ ask: "forget", session: mine, id: "gone" })}`,
  ]);
  put(record("far", { state: "exited", code: 3, endedAtMs: 7 }));
  const again = await commands.get(mine, "far");
  expect(again?.record).toMatchObject({ state: "exited", code: 3, endedAtMs: 7 });
  expect(() => again?.write("more")).toThrow("the command far is over: exited");
  // How much was told of it is kept from one look to the next.
  expect(again).toBe(far);
});

test("a command that its node no longer knows is lost, at the time at which that is seen", async () => {
  const { commands, clock, drop } = stage([], [record("far")]);
  const far = await commands.get(mine, "far");
  drop("far");
  await clock.advance(40);
  await far?.ended(0);
  expect(far?.record).toMatchObject({ state: "lost", endedAtMs: clock.now() });
  await clock.advance(40);
  await far?.ended(0);
  expect(far?.record.endedAtMs).toBe(clock.now() - 40);
});

test("its end and its words are looked for four times a second, until they come, time is over or nobody waits", async () => {
  const { commands, clock, put, says } = stage([], [record("far")]);
  const far = await commands.get(mine, "far");
  const timed = async (wait: Promise<void> | undefined, after: readonly (() => void)[]): Promise<number> => {
    const beganMono = clock.mono();
    let over = -1;
    void wait?.then(() => (over = clock.mono() - beganMono));
    for (let at = 0; over < 0 && at < 40; at += 1) {
      after[at]?.();
      await clock.advance(100);
    }
    return over;
  };
  expect(await timed(far?.ended(700), [])).toBe(700);
  says(5);
  if (far !== null) far.told = 5;
  expect(await timed(far?.spoke(3_000), [() => {}, () => says(6)])).toBe(250);
  says(new Error("not to be seen from here"));
  expect(await timed(far?.spoke(600), [])).toBe(600);
  const controller = new AbortController();
  expect(await timed(far?.ended(3_000, controller.signal), [() => {}, () => controller.abort()])).toBe(100);
  const done = () => put(record("far", { state: "exited" }));
  expect(await timed(far?.ended(3_000), [() => {}, () => {}, done])).toBe(250);
  expect(clock.armed()).toBe(0);
});

test("a kill is asked for every half second, eight times, and then it is told that it may still run", async () => {
  const { commands, clock, since, put } = stage([], [record("far"), record("soon")]);
  const [far, soon] = [await commands.get(mine, "far"), await commands.get(mine, "soon")];
  const killing = expect(far?.kill()).rejects.toMatchObject({
    code: "unavailable",
    message: "the node that runs the command far does not answer: it may still run",
  });
  for (let at = 0; at < 16; at += 1) await clock.advance(250);
  await killing;
  expect(since().map((text) => Number(text.split(" ")[0]))).toEqual([
    0, 500, 1_000, 1_500, 2_000, 2_500, 3_000, 3_500,
  ]);
  const killed = soon?.kill();
  await clock.advance(600);
  put(record("soon", { state: "killed" }));
  await clock.advance(250);
  await killed;
  expect(since()).toHaveLength(2);
});

test("the end of all of a session is asked for until none of it runs elsewhere, eight times at most; then it is told", async () => {
  const { commands, clock, since, did, put, logged } = stage(
    [record("a")],
    [record("far"), record("over", { state: "exited" }), record("else", { session: theirs })],
  );
  const ending = commands.end(mine);
  await clock.advance(600);
  put(record("far", { state: "killed" }));
  await clock.advance(250);
  await ending;
  const word = JSON.stringify({ ask: "end", session: mine });
  expect([since(), did(), logged]).toEqual([
    [`0 ${word}`, `250 ${word}`, `500 ${word}`],
    [`end ${mine}`],
    [],
  ]);
  const all = commands.end();
  for (let at = 0; at < 8; at += 1) await clock.advance(250);
  await all;
  expect(since().map((text) => text.split(" ")[1])).toEqual(Array.from({ length: 8 }, () => '{"ask":"end"}'));
  expect([did(), logged]).toEqual([
    ["end all"],
    ["warn: a node that runs commands does not answer: they may still run"],
  ]);
});
