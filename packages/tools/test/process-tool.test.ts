// The tool for background commands, word for word, over commands that are no real ones: what is listed,
// polled, written and removed, by whom, and what it says of each end.
import { expect, test } from "vitest";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { virtualClock } from "@parley/testkit";
import { rooted, type CommandRecord, type ToolContext } from "../src/index.ts";
import { process as processTool } from "../src/tools/process.ts";
import { call, made } from "./stage.ts";

test("background commands are listed, read, written to and removed, each by its id", async () => {
  const folder = await mkdtemp(join(tmpdir(), "parley-process-"));
  await writeFile(join(folder, "p1.log"), "one\ntwo\n");
  const clock = virtualClock({ startMs: 100_000 });
  const did: string[] = [];
  const record = (id: string, more: Partial<CommandRecord> = {}): CommandRecord =>
    ({
      id,
      command: `run ${id}`,
      state: "running",
      code: null,
      startedAtMs: 88_400,
      endedAtMs: null,
      log: `${id}.log`,
      owner: false,
      ...more,
    }) as never;
  const commands = [
    record("p1"),
    record("p2", { owner: true, command: "x".repeat(130) }),
    record("p3", { state: "exited", code: 3, endedAtMs: 90_000 }),
    record("p4", { state: "exited", code: null, endedAtMs: 88_899 }),
    record("p5", { state: "killed", endedAtMs: 88_900 }),
    record("p6", { state: "timed out", endedAtMs: 99_000 }),
    record("p7", { state: "lost", endedAtMs: 99_000 }),
  ].map((each) => ({
    record: each,
    files: rooted({ root: folder }),
    told: 4,
    spoke: async (ms: number) => void did.push(`${each.id} waits ${ms}`),
    write: (data: string) => void did.push(`${each.id} gets ${data}`),
    closeInput: () => void did.push(`${each.id} closed`),
    kill: async () => void did.push(`${each.id} killed`),
  }));
  const of = (owner: boolean, known = commands) =>
    made(
      processTool({
        owner,
        clock,
        exec: {
          policy: { mode: "full" },
          commands: {
            list: async (session: string) => (
              did.push(`listed for ${session}`),
              known.map((each) => each.record)
            ),
            get: async (_session: string, id: string) => known.find((each) => each.record.id === id) ?? null,
            forget: async (session: string, id: string) => void did.push(`${id} of ${session} forgotten`),
          },
        },
      } as unknown as ToolContext),
    );
  const says = async (args: object, owner = false, known = commands): Promise<string> =>
    call(of(owner, known), args as never).then(
      ({ content }) => content.map((part) => (part.type === "text" ? part.text : "")).join("\n"),
      ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
    );
  expect(await says({ action: "list" })).toBe(
    [
      "p1 runs, 12 s: run p1",
      `p2 runs, 12 s: ${"x".repeat(120)}`,
      "p3 exited with code 3, 2 s: run p3",
      "p4 was ended by a signal, 0 s: run p4",
      "p5 was killed, 1 s: run p5",
      "p6 timed out and was ended, 11 s: run p6",
      "p7 was lost: the gateway stopped while it ran, and it was ended, 11 s: run p7",
    ].join("\n"),
  );
  expect(await says({ action: "list" }, false, [])).toBe("No background commands in this session.");
  expect(did.splice(0)).toEqual(["listed for agent:main:main", "listed for agent:main:main"]);
  expect(await says({ action: "poll", id: "p1", timeout: 5 })).toBe("two\n[p1 runs]");
  expect(await says({ action: "poll", id: "p1" })).toBe("[p1 runs]");
  expect(await says({ action: "log", id: "p1" })).toBe("one\ntwo\n[p1 runs]");
  expect(await says({ action: "log", id: "p3" })).toBe("(its output is gone)\n[p3 exited with code 3]");
  expect(await says({ action: "write", id: "p1" })).toBe("invalid: write needs data or eof");
  expect(await says({ action: "write", id: "p1", data: "" })).toBe("Sent to p1.");
  expect(await says({ action: "write", id: "p1", eof: true })).toBe("Sent to p1.");
  expect(await says({ action: "write", id: "p2", data: "y\n", eof: true })).toBe(
    "denied: an owner's turn began it, so only an owner's turn writes to p2",
  );
  expect(await says({ action: "write", id: "p2", data: "y\n", eof: true }, true)).toBe("Sent to p2.");
  expect(await says({ action: "kill", id: "p2" })).toBe("p2 runs.");
  expect(await says({ action: "remove", id: "p2" })).toBe("conflict: p2 still runs; kill it first");
  expect(await says({ action: "remove", id: "p4" })).toBe("Removed p4 and its output.");
  expect(did.splice(0)).toEqual([
    "p1 waits 5",
    "p1 waits 0",
    "p1 gets ",
    "p1 closed",
    "p2 gets y\n",
    "p2 closed",
    "p2 killed",
    "p4 of agent:main:main forgotten",
  ]);
  expect(await says({ action: "kill", id: "p9" })).toBe(
    'missing: there is no command "p9" of this session; there are: p1, p2, p3, p4, p5, p6, p7',
  );
  expect(await says({ action: "log" }, false, [])).toBe(
    'missing: there is no command "" of this session; there are: none',
  );
  const outside = (args: object) => of(true).outside?.(args, {} as never, {} as never);
  expect([
    outside({ action: "write", id: "p1", data: "rm\n" }),
    outside({ action: "write", id: "p1" }),
    outside({ action: "poll", id: "p1" }),
  ]).toEqual(["write to p1\nrm\\u{a}", "write to p1\n", null]);
  await rm(folder, { recursive: true });
});
