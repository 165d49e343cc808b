// The rehearsal tools, run for real: files, processes, aborts.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "@parley/protocol";
import { rehearsalTools, type Tool, type ToolScope } from "../src/index.ts";
import { scopeOf } from "./stage.ts";

let workspace: string;
beforeAll(async () => {
  workspace = await mkdtemp(join(tmpdir(), "parley-tools-"));
});
afterAll(() => rm(workspace, { recursive: true, force: true }));

const tools = rehearsalTools(systemClock(), process.env["PATH"] ?? "");
const tool = (name: string): Tool =>
  tools.find((each) => each.name === name) ?? expect.unreachable(`no tool ${name}`);
const scope = (signal?: AbortSignal): ToolScope => scopeOf(workspace, signal);

async function call(name: string, args: { [key: string]: string | number }, signal?: AbortSignal) {
  const parsed = tool(name).parse(args);
  if (!parsed.ok) throw new Error(parsed.reason);
  return tool(name).run(parsed.args, scope(signal));
}

describe("arguments", () => {
  test("are described to the model as a JSON Schema object", () => {
    expect(tool("echo").parameters).toMatchObject({
      type: "object",
      properties: { text: { type: "string" } },
      required: ["text"],
    });
  });

  test("that do not fit are refused with the reason", () => {
    expect(tool("echo").parse({ text: 5 })).toMatchObject({
      ok: false,
      reason: expect.stringContaining("text"),
    });
    expect(tool("append").parse({ line: "two\nlines" })).toMatchObject({
      ok: false,
      reason: expect.stringContaining("one line only"),
    });
  });
});

test("echo says its text back", async () => {
  expect(await call("echo", { text: "hi" })).toEqual({ content: [{ type: "text", text: "hi" }] });
});

test("append leaves a line for every run", async () => {
  await call("append", { line: "one" });
  await call("append", { line: "two" });
  expect(await readFile(join(workspace, "rehearsal.log"), "utf8")).toBe("c1 one\nc1 two\n");
});

describe("sleep", () => {
  test("ends by itself", async () => {
    expect(await call("sleep", { seconds: 0.01 })).toEqual({
      content: [{ type: "text", text: "slept 0.01 s" }],
    });
  });

  test("is ended with everything it started", async () => {
    const seconds = 3_000 + process.pid / 1e7;
    const controller = new AbortController();
    const running = call("sleep", { seconds }, controller.signal);
    const alive = async (): Promise<boolean> =>
      (await commandLines()).some((line) => line.includes(`sleep\0${seconds}`));
    while (!(await alive())) await new Promise((resolve) => setTimeout(resolve, 5));
    controller.abort();
    await expect(running).rejects.toMatchObject({ code: "aborted" });
    while (await alive()) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  test("does not start after an abort", async () => {
    const controller = new AbortController();
    controller.abort();
    await expect(call("sleep", { seconds: 1 }, controller.signal)).rejects.toMatchObject({ code: "aborted" });
  });
});

async function commandLines(): Promise<string[]> {
  const { readdir } = await import("node:fs/promises");
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  return Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
}
