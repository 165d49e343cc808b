// Stopping a tool that runs in processes of its own: the real daemon, real processes, real time.
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { controlClient, type ControlClient } from "../e2e/control-client.ts";
import { cleanUp, eventually, startDaemon, type Daemon } from "../e2e/daemon.ts";

// One daemon for all: each test has a conversation of its own, and processes that sleep for a time of their
// own.
let daemon: Daemon;
beforeAll(async () => {
  daemon = await startDaemon({ config: { tools: { rehearsal: true, exec: { mode: "full" } } } });
});
afterAll(cleanUp);

/** As long as nobody else on this machine sleeps: another run of this file may go on beside it. */
const ofThisRun = (seconds: number): number => Number(`${seconds}.${process.pid}1`);

/** The conversation of one person on the page. */
interface Chat {
  readonly client: ControlClient;
  call(method: string, params?: object): Promise<unknown>;
  history(): Promise<readonly { readonly role: string; readonly text: string }[]>;
}

async function chatOf(peer: string): Promise<Chat> {
  const client = await controlClient(daemon, { peer });
  return {
    client,
    call: client.call,
    history: async () =>
      ((await client.call("chat.history")) as { messages: { role: string; text: string }[] }).messages,
  };
}

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

async function sleeping(seconds: number): Promise<Chat> {
  const chat = await chatOf(`web-sleeper-${Math.floor(seconds)}`);
  await chat.call("chat.send", {
    text: `!tool sleep {"seconds": ${seconds}}`,
    idempotencyKey: `work ${seconds}`,
  });
  await eventually(() => sleepers(seconds).length > 0, 15_000, "the tool's process");
  return chat;
}

async function shows(chat: Chat, words: string, what: string): Promise<void> {
  await eventually(async () => JSON.stringify(await chat.history()).includes(words), 15_000, what);
}

test("the page's stop button ends commands in the background too", async () => {
  const chat = await chatOf("web-background");
  const seconds = ofThisRun(3_513);
  await chat.call("chat.send", {
    text: `!tool exec {"command": ["sleep", "${seconds}"], "background": true}`,
    idempotencyKey: "background",
  });
  await shows(chat, "goes on in the background", "the answer");
  expect(sleepers(seconds)).toHaveLength(1);
  expect(await chat.call("chat.abort")).toEqual({ stopped: true, cancelled: 0 });
  await eventually(() => sleepers(seconds).length === 0, 10_000, "the end of the command");
  expect(await chat.call("chat.abort")).toEqual({ stopped: false, cancelled: 0 });
  chat.client.close();
});

test("the page keeps what was said of a stopped answer, with the mark, and the next message is answered alone", async () => {
  const chat = await chatOf("web-long");
  await chat.call("chat.send", { text: "!say Once upon a time\n!hang", idempotencyKey: "long" });
  const grown = (): string =>
    JSON.stringify(chat.client.events().filter(({ event }) => event !== "chat.message"));
  await eventually(() => grown().includes("Once upon a time"), 15_000, "the beginning of the answer");
  expect(await chat.call("chat.abort")).toEqual({ stopped: true, cancelled: 0 });
  await shows(chat, "[stopped by the user]", "the mark");
  await chat.call("chat.send", { text: "!history", idempotencyKey: "after long" });
  await eventually(async () => (await chat.history()).length === 4, 15_000, "the answer");
  const messages = await chat.history();
  expect(messages.map(({ role, text }) => `${role}: ${text}`)).toEqual([
    "user: !say Once upon a time\n!hang",
    "assistant: Once upon a time\n\n[stopped by the user]",
    "user: !history",
    expect.stringContaining("assistant: "),
  ]);
  chat.client.close();
});

describe("a tool's processes", () => {
  test.each([
    ["/stop", ofThisRun(3_511), { method: "chat.send", params: { text: "/stop", idempotencyKey: "stop" } }],
    ["the page's stop button", ofThisRun(3_512), { method: "chat.abort", params: {} }],
  ])(
    "are gone at once after %s, and the next message is answered",
    async (_by, seconds, { method, params }) => {
      const chat = await sleeping(seconds);
      const from = performance.now();
      await chat.call(method, params);
      await eventually(() => sleepers(seconds).length === 0, 10_000, "the end of the processes");
      // Two seconds are promised. A busy machine gets more, but not the ten until the lease would be renewed
      // and found lost.
      expect(performance.now() - from).toBeLessThan(5_000);
      await chat.call("chat.send", { text: "!say alive", idempotencyKey: `next ${seconds}` });
      await shows(chat, 'alive"', "the next answer");
      chat.client.close();
    },
  );
});
