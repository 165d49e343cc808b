// Stopping a tool that runs in processes of its own: the real daemon, real processes, real time.
import { readdirSync, readFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { controlClient, type ControlClient } from "../e2e/control-client.ts";
import { cleanUp, eventually, startDaemon } from "../e2e/daemon.ts";

afterEach(cleanUp);

/**
 * Pids of the processes whose command line ends so: the shell that the tool starts, and the sleep that the
 * shell starts.
 */
function sleepers(seconds: number): readonly number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      return readFileSync(`/proc/${name}/cmdline`, "utf8").includes(`sleep\0${seconds}\0`)
        ? [Number(name)]
        : [];
    } catch {
      // Processes end while we read.
      return [];
    }
  });
}

async function sleeping(seconds: number): Promise<ControlClient> {
  const daemon = await startDaemon({ config: { tools: { rehearsal: true } } });
  const client = await controlClient(daemon);
  await client.call("chat.send", { text: `!tool sleep {"seconds": ${seconds}}`, idempotencyKey: "work" });
  await eventually(() => sleepers(seconds).length > 0, 15_000, "the tool's process");
  return client;
}

async function history(client: ControlClient): Promise<string> {
  return JSON.stringify(await client.call("chat.history"));
}

test("the page's stop button ends commands in the background too", async () => {
  const daemon = await startDaemon({ config: { tools: { exec: { mode: "full" } } } });
  const client = await controlClient(daemon);
  await client.call("chat.send", {
    text: `!tool exec {"command": ["sleep", "3513"], "background": true}`,
    idempotencyKey: "work",
  });
  await eventually(
    async () => (await history(client)).includes("goes on in the background"),
    15_000,
    "the answer",
  );
  expect(sleepers(3_513)).toHaveLength(1);
  expect(await client.call("chat.abort")).toEqual({ stopped: true, cancelled: 0 });
  await eventually(() => sleepers(3_513).length === 0, 10_000, "the end of the command");
  expect(await client.call("chat.abort")).toEqual({ stopped: false, cancelled: 0 });
  client.close();
});

test("the page keeps what was said of a stopped answer, with the mark, and the next message is answered alone", async () => {
  const daemon = await startDaemon({ config: {} });
  const client = await controlClient(daemon);
  await client.call("chat.send", { text: "!say Once upon a time\n!hang", idempotencyKey: "long" });
  const grown = (): string => JSON.stringify(client.events().filter(({ event }) => event !== "chat.message"));
  await eventually(() => grown().includes("Once upon a time"), 15_000, "the beginning of the answer");
  expect(await client.call("chat.abort")).toEqual({ stopped: true, cancelled: 0 });
  await eventually(async () => (await history(client)).includes("[stopped by the user]"), 15_000, "the mark");
  await client.call("chat.send", { text: "!history", idempotencyKey: "next" });
  await eventually(
    async () => ((await client.call("chat.history")) as { messages: object[] }).messages.length === 4,
    15_000,
    "the answer",
  );
  const { messages } = (await client.call("chat.history")) as { messages: { role: string; text: string }[] };
  expect(messages.map(({ role, text }) => `${role}: ${text}`)).toEqual([
    "user: !say Once upon a time\n!hang",
    "assistant: Once upon a time\n\n[stopped by the user]",
    "user: !history",
    expect.stringContaining("assistant: "),
  ]);
  client.close();
});

describe("a tool's processes", () => {
  test.each([
    ["/stop", 3_511, { method: "chat.send", params: { text: "/stop", idempotencyKey: "stop" } }],
    ["the page's stop button", 3_512, { method: "chat.abort", params: {} }],
  ])(
    "are gone at once after %s, and the next message is answered",
    async (_by, seconds, { method, params }) => {
      const client = await sleeping(seconds);
      const from = performance.now();
      await client.call(method, params);
      await eventually(() => sleepers(seconds).length === 0, 10_000, "the end of the processes");
      // Two seconds are promised. A busy machine gets more, but not the ten until the lease would be renewed
      // and found lost.
      expect(performance.now() - from).toBeLessThan(5_000);
      await client.call("chat.send", { text: "!say alive", idempotencyKey: "next" });
      await eventually(async () => (await history(client)).includes('alive"'), 10_000, "the next answer");
      client.close();
    },
  );
});
