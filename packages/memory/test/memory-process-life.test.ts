// How the memory's process is used and given up: who is waited for, how long, and what each of its ends
// means.
import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { virtualClock, type VirtualClock } from "@parley/testkit";
import { beforeEach, expect, test } from "vitest";
import { memoryOver } from "../src/memory-process.ts";
import type { WorkerReply, WorkerTask } from "../src/memory-worker.ts";
import { plainSearch } from "./notes.ts";

type Reply = WorkerReply extends infer One ? (One extends unknown ? Omit<One, "id"> : never) : never;

/** A process that answers nothing by itself. */
class Child extends EventEmitter {
  readonly tasks: WorkerTask[] = [];
  readonly signals: string[] = [];
  readonly channel = { ref: () => {}, unref: () => {} };
  isHeld = true;
  isConnected = true;
  sendError: Error | null = null;
  ref(): void {
    this.isHeld = true;
  }
  unref(): void {
    this.isHeld = false;
  }
  disconnect(): void {
    this.isConnected = false;
  }
  kill(signal: string): void {
    this.signals.push(signal);
    this.emit("exit");
  }
  send(task: WorkerTask, sent: (error: Error | null) => void): void {
    this.tasks.push(task);
    sent(this.sendError);
  }
  answer(at: number, reply: Reply): void {
    this.emit("message", { id: this.tasks.at(at)?.id, ...reply });
  }
}

const children: Child[] = [];
let nextError: Error | null = null;
function start(): ChildProcess {
  const child = new Child();
  child.sendError = nextError;
  children.push(child);
  return child as unknown as ChildProcess;
}

const target = {
  workspace: "/w",
  indexPath: "/i/main.sqlite",
  chunking: { tokens: 400, overlap: 80 },
  embedder: null,
  talk: false,
};
let clock: VirtualClock;
beforeEach(() => {
  children.length = 0;
  nextError = null;
  clock = virtualClock();
});
const made = (node?: string) => memoryOver(start, { clock, idleMs: 1_000, node });
const ops = (): readonly (readonly string[])[] => children.map(({ tasks }) => tasks.map(({ op }) => op));
const ok = (value: unknown): Reply => ({ ok: true, value });
const search = { ...plainSearch, query: "q" };

test("each answer goes to its question, whatever their order, and a failure is what the engine said", async () => {
  const memory = made("b/c");
  const found = memory.search(target, search);
  const known = memory.talks(target, ["s"]);
  const refused = memory.undo(target, {} as never);
  const broken = memory.status(target);
  expect([children.length, memory.processes()]).toEqual([1, 1]);
  const [child] = children;
  expect(child?.tasks.map(({ op, args }) => [op, args[0]?.indexPath, args[1]])).toEqual([
    ["search", "/i/main@b-c.sqlite", search],
    ["talks", "/i/main@b-c.sqlite", ["s"]],
    ["undo", "/i/main@b-c.sqlite", {}],
    ["status", "/i/main@b-c.sqlite", undefined],
  ]);
  child?.answer(3, { ok: false, code: "internal", message: "torn" });
  child?.answer(2, { ok: false, code: "conflict", message: "changed" });
  child?.answer(1, ok(["known"]));
  child?.answer(0, ok("found"));
  await expect(broken).rejects.toThrow("torn");
  await expect(broken).rejects.not.toHaveProperty("code");
  await expect(refused).rejects.toMatchObject({ code: "conflict", message: "changed" });
  expect(await Promise.all([known, found])).toEqual([["known"], "found"]);
});

test("it keeps the daemon alive while somebody waits, is asked whether it is busy when idle, and then left", async () => {
  const memory = made();
  const [first, second] = [memory.status(target), memory.talks(target, [])];
  const child = children[0] ?? new Child();
  child.answer(0, ok(1));
  await first;
  expect([child.isHeld, clock.armed()]).toEqual([true, 1]);
  child.answer(1, ok(2));
  await second;
  expect(child.isHeld).toBe(false);
  await clock.advance(999);
  expect(ops()).toEqual([["status", "talks"]]);
  await clock.advance(1);
  expect([ops(), child.isHeld]).toEqual([[["status", "talks", "isBusy"]], true]);
  child.answer(2, ok(true));
  await clock.advance(999);
  expect([child.isConnected, child.tasks.length]).toEqual([true, 3]);
  await clock.advance(1);
  child.answer(3, ok(false));
  await clock.advance(0);
  expect([child.isConnected, memory.processes(), clock.armed()]).toEqual([false, 0, 0]);
  const later = memory.status(target);
  expect(ops()).toEqual([["status", "talks", "isBusy", "isBusy"], ["status"]]);
  children[1]?.answer(0, ok(3));
  expect(await later).toBe(3);
});

test("who asks while it is asked whether it is busy is answered by it, and a new question puts the end off", async () => {
  const memory = made();
  const first = memory.status(target);
  const child = children[0] ?? new Child();
  child.answer(0, ok(1));
  await first;
  await clock.advance(600);
  const second = memory.status(target);
  await clock.advance(600);
  expect(child.tasks).toHaveLength(2);
  child.answer(1, ok(2));
  await second;
  await clock.advance(1_000);
  expect(child.tasks.at(2)?.op).toBe("isBusy");
  const third = memory.status(target);
  child.answer(2, ok(false));
  await clock.advance(0);
  expect([child.isConnected, memory.processes()]).toEqual([true, 1]);
  child.answer(3, ok(3));
  expect(await third).toBe(3);
  await clock.advance(1_000);
  child.answer(4, { ok: false, code: "internal", message: "torn" });
  await clock.advance(0);
  expect([child.isConnected, memory.processes()]).toEqual([false, 0]);
});

test.each([
  ["status", 60_000],
  ["search", 60_000],
  ["alike", 60_000],
  ["reindex", 3_600_000],
  ["forget", 3_600_000],
] as const)("%s is waited for %i ms; then the process is killed", async (op, mostMs) => {
  const memory = made();
  const asked = (memory[op] as (...args: unknown[]) => Promise<unknown>)(target, {});
  const failed = asked.then(
    () => null,
    (error: unknown) => error,
  );
  await clock.advance(mostMs - 1);
  expect(children[0]?.signals).toEqual([]);
  await clock.advance(1);
  expect(children[0]?.signals).toEqual(["SIGKILL"]);
  expect(await failed).toMatchObject({ code: "unavailable", message: "the memory's index does not answer" });
  expect([children.length, memory.processes(), clock.armed()]).toEqual([1, 0, 0]);
});

test("a question is asked three times of processes that die, those of another process are left alone", async () => {
  const memory = made();
  const asked = memory.status(target);
  const failed = expect(asked).rejects.toMatchObject({ code: "unavailable", message: /died 3 times/ });
  const settle = () => clock.advance(0);
  children[0]?.emit("exit");
  await settle();
  // The end of an earlier one is told twice.
  children[0]?.emit("exit");
  await settle();
  expect([ops(), memory.processes()]).toEqual([[["status"], ["status"]], 1]);
  children[1]?.emit("error", new Error("no"));
  await settle();
  expect([ops(), memory.processes()]).toEqual([[["status"], ["status"], ["status"]], 1]);
  children[2]?.emit("exit");
  await failed;
  expect(memory.processes()).toBe(0);
  nextError = new Error("EPIPE");
  const again = memory.status(target);
  nextError = null;
  await settle();
  expect(ops().slice(3)).toEqual([["status"], ["status"]]);
  children[4]?.answer(0, ok("there"));
  expect(await again).toBe("there");
});

test("when the gateway stops, who waits is told, nobody else is asked, and nothing runs on", async () => {
  const memory = made();
  const asked = memory.status(target);
  memory.close();
  await expect(asked).rejects.toMatchObject({ code: "aborted" });
  await expect(memory.isBusy()).rejects.toMatchObject({ code: "aborted" });
  expect([children.length, children[0]?.isConnected, memory.processes(), clock.armed()]).toEqual([
    1,
    false,
    0,
    0,
  ]);
});
