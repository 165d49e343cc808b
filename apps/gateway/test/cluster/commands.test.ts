// Background commands of a session on two nodes: seen, asked, told and ended from either; and a start beside
// the first ends nothing of it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog, systemClock, systemIds, type SessionKey } from "@parley/protocol";
import type { Bus } from "@parley/queue";
import { sqliteStore, type SqliteStore } from "@parley/store";
import { openCommands, rooted, type Command, type Commands } from "@parley/tools";
import { afterEach, beforeEach, expect, test } from "vitest";
import { commandsOfNodes } from "@parley/cluster";
import { allCommandRecords, commandRecords } from "@parley/runner";
import { eventually } from "../e2e/daemon.ts";

const session = "agent:main:main" as SessionKey;
const ports = { clock: systemClock(), ids: systemIds(), log: silentLog };
let dir: string;
let store: SqliteStore;
let ears: { readonly from: string; readonly topic: string; readonly listen: (body: string) => void }[];
let lost: number;
let opened: Commands[];
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "parley-commands-"));
  store = await sqliteStore({ ...ports, path: join(dir, "state.db"), bootId: "boot", onFatal: () => {} });
  [ears, lost, opened] = [[], 0, []];
});
afterEach(async () => {
  await Promise.all(opened.map((own) => own.end()));
  await store.close();
  rmSync(dir, { recursive: true });
});

function busOf(from: string): Bus {
  return {
    shared: true,
    tell(topic, body) {
      if ((lost -= 1) >= 0) return;
      for (const ear of ears) if (ear.from !== from && ear.topic === topic) ear.listen(body);
    },
    hear(topic, listen) {
      ears.push({ from, topic, listen });
      return () => {};
    },
    close: async () => {},
  };
}

const filesAt = (root: string) => rooted({ root });

async function node(name: string): Promise<Commands> {
  const records = commandRecords({
    ...store,
    ...ports,
    node: name,
    isEnding: () => false,
    placeOf: () => null,
  });
  const own = await openCommands({ ...ports, records, onEnd: async () => undefined }, filesAt);
  opened.push(own);
  return commandsOfNodes({
    ...ports,
    own,
    records: () => allCommandRecords(store.cells),
    filesAt,
    bus: busOf(name),
  });
}

async function begin(commands: Commands, script: string): Promise<Command> {
  const request = {
    session,
    agent: "main",
    turn: "t",
    command: script,
    owner: true,
    bound: [],
    files: filesAt(dir),
    cwd: dir,
    env: { PATH: "/usr/bin:/bin" },
  };
  const command = await commands.start({
    ...request,
    argv: ["/bin/sh", "-c", script],
    pty: false,
    input: true,
    timeoutMs: 60_000,
  });
  await command.background();
  return command;
}

test("a command of one node is listed, polled, written to and killed from the other; its start left it alone", async () => {
  const here = await node("a");
  const echo = await begin(here, "read line; echo got $line; sleep 60");
  const there = await node("b");
  expect(echo.record.state).toBe("running");
  expect((await there.list(session)).map(({ id, state }) => [id, state])).toEqual([
    [echo.record.id, "running"],
  ]);
  expect(await there.get("agent:main:telegram:dm:1" as SessionKey, echo.record.id)).toBeNull();
  const far = await there.get(session, echo.record.id);
  far?.write("hel");
  far?.write("lo\n");
  await far?.spoke(10_000);
  const text = await far?.files.readWhole(far.record.log);
  expect(Buffer.from(text?.bytes ?? []).toString()).toBe("got hello\n");
  await far?.kill();
  expect([far?.record.state, echo.record.state]).toEqual(["killed", "killed"]);
  expect(() => far?.write("more")).toThrow(/is over: killed/);
  const other = await begin(here, "sleep 60");
  lost = 1;
  await (await there.get(session, other.record.id))?.kill();
  expect(other.record.state, "its end is asked for again where the word was lost").toBe("killed");
  await there.forget(session, other.record.id);
  await there.forget(session, echo.record.id);
  await eventually(async () => (await here.list(session)).length === 0);
  expect(await there.list(session)).toEqual([]);
});

test("/stop and /estop reach commands of all nodes, also when words are lost", async () => {
  const [here, there] = [await node("a"), await node("b")];
  const command = await begin(here, "sleep 60");
  lost = 2;
  await there.end(session);
  expect(command.record.state).toBe("killed");
  const [one, two] = [await begin(here, "sleep 60"), await begin(there, "sleep 60")];
  await there.end();
  expect([one.record.state, two.record.state]).toEqual(["killed", "killed"]);
});
