// Saying one thing and waiting for what comes back: all that is asked of the gateway, when the answer is
// whole, and what becomes of a gateway that goes away meanwhile.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { protocolRange } from "@parley/protocol";
import { expect, test, vi } from "vitest";
import { fakeGateway, parley, Refusal, stateFolder, token, type FakeGateway } from "./fake-gateway.ts";
import { passUntil, stopTime } from "./passing-time.ts";

/** One look at the conversation: what it has, and whether the message and the agent are at work. */
interface Look {
  readonly messages: readonly (readonly [seq: number, role: string, text: string])[];
  readonly working?: boolean;
  readonly now?: string;
}

/** Asks, and has each look find the next of these, the last again and again. */
async function asked(argv: readonly string[], looks: readonly Look[], text = "hi") {
  let at = -1;
  const isSent = Promise.withResolvers<void>();
  const gateway = await fakeGateway(({ method }) => {
    if (method === "chat.send") {
      isSent.resolve();
      return { id: "web:1", sessionKey: "s", duplicate: false };
    }
    if (method === "why") {
      at = Math.min(at + 1, looks.length - 1);
      return { now: looks[at]?.now ?? null };
    }
    const { messages = [], working = false } = looks[at] ?? {};
    return { messages: messages.map(([seq, role, words]) => ({ seq, role, text: words })), working };
  });
  stopTime();
  const running = parley(gateway.home, argv, { input: new PassThrough().end(text) });
  await isSent.promise;
  const run = await passUntil(running);
  return { run, gateway, looked: gateway.requests.filter(({ method }) => method === "why").length };
}

const at = "it waits for its turn";
const before = [
  [9, "assistant", "from before"],
  [10, "assistant", "the last one from before"],
  [11, "user", "hi"],
] as const;
const first = [12, "assistant", "first"] as const;
const second = [13, "notice", "second"] as const;

test.each<readonly [string, readonly Look[], number, string]>([
  [
    "ends once it is done, with all that it ended with",
    [{ messages: [...before, first, second] }],
    1,
    "first\nsecond\n",
  ],
  [
    "goes on while the message waits and nothing came",
    [...Array.from({ length: 9 }, () => ({ messages: before, now: at })), { messages: [...before, first] }],
    10,
    "first\n",
  ],
  [
    "ends two quiet looks after the last answer, though the message is not done",
    [
      { messages: [...before, first], now: at },
      { messages: [...before, first], now: at },
      { messages: [...before, first, second], now: at },
    ],
    5,
    "first\nsecond\n",
  ],
  [
    "goes on while the agent works",
    [
      { messages: [...before, first], now: at, working: true },
      { messages: [...before, first], now: at, working: true },
      { messages: [...before, first], now: at, working: true },
      { messages: [...before, first], now: at },
    ],
    5,
    "first\n",
  ],
])("it %s", async (_what, looks, count, out) => {
  const { run, looked } = await asked(["send", "hi"], looks);
  expect([run, looked]).toEqual([{ exitCode: 0, out, err: "" }, count]);
});

const key = expect.stringMatching(/^[\da-f-]{36}$/) as string;
const asking = (gateway: FakeGateway) => gateway.requests.map(({ method, params }) => [method, params]);
const login = (conversation: object): object => ({
  protocol: protocolRange,
  client: { name: "parley-cli", version: "1" },
  auth: { token },
  ...conversation,
});

test("in a conversation of its own all of it is asked of that one", async () => {
  const { gateway } = await asked(["chat", "--thread", "work"], [{ messages: [first] }], " two\n words \n");
  expect(asking(gateway)).toEqual([
    ["connect", login({ thread: "work" })],
    ["chat.send", { thread: "work", text: "two\n words", idempotencyKey: key }],
    ["why", { query: "web:1" }],
    ["chat.history", { thread: "work", limit: 200 }],
  ]);
});

test("files go along in their order, the voice last, with the words or alone", async () => {
  const folder = stateFolder(null, null);
  for (const name of ["a.txt", "b.txt", "c.ogg"]) writeFileSync(join(folder, name), name);
  const flags = [
    "--file",
    join(folder, "b.txt"),
    "--file",
    join(folder, "a.txt"),
    "--voice",
    join(folder, "c.ogg"),
  ];
  const files = [
    { name: "b.txt", data: "Yi50eHQ=" },
    { name: "a.txt", data: "YS50eHQ=" },
    { name: "c.ogg", voice: true, data: "Yy5vZ2c=" },
  ];
  const { gateway } = await asked(["chat", ...flags], [{ messages: [first] }], "");
  expect(asking(gateway).slice(0, 2)).toEqual([
    ["connect", login({})],
    ["chat.send", { text: "", files, idempotencyKey: key }],
  ]);
  const other = await fakeGateway(() => ({ id: "web:2", sessionKey: "s", duplicate: true }));
  const run = await parley(other.home, ["send", "--no-wait", "--thread", "t", "look", ...flags]);
  expect(run).toEqual({ exitCode: 0, out: "web:2\n", err: "" });
  expect(asking(other)).toEqual([
    ["connect", login({ follows: false })],
    ["chat.send", { thread: "t", text: "look", files, idempotencyKey: key }],
  ]);
});

test("at a terminal files go without waiting for words, and lines go into the conversation that is named", async () => {
  const folder = stateFolder(null, null);
  writeFileSync(join(folder, "a.txt"), "a");
  const terminal = () => Object.assign(new PassThrough(), { isTTY: true });
  const gateway = await fakeGateway(({ method }) =>
    method === "chat.history" ? { messages: [], working: false } : { id: "web:1", now: null },
  );
  const alone = await parley(gateway.home, ["chat", "--file", join(folder, "a.txt")], { input: terminal() });
  expect(alone).toEqual({ exitCode: 0, out: "", err: "The agent did not answer.\n" });
  expect(gateway.requests[1]?.params).toEqual({
    text: "",
    files: [{ name: "a.txt", data: "YQ==" }],
    idempotencyKey: key,
  });
  let refusals = 1;
  const talked = await fakeGateway(() => {
    if (refusals-- > 0) throw new Refusal("invalid", "the text is too long");
    return { id: "web:1" };
  });
  const input = terminal();
  input.end("first\n \nsecond\n");
  expect(await parley(talked.home, ["chat", "--thread", "t"], { input })).toEqual({
    exitCode: 0,
    out: "",
    err: "Talk to the agent. /stop ends its work, Ctrl-D leaves.\nthe text is too long\n",
  });
  expect(asking(talked)).toEqual([
    ["connect", login({ thread: "t" })],
    ["chat.send", { thread: "t", text: "first", idempotencyKey: key }],
    ["chat.send", { thread: "t", text: "second", idempotencyKey: key }],
  ]);
  const [, one, two] = talked.requests.map(
    ({ params }) => (params as { idempotencyKey?: string }).idempotencyKey,
  );
  expect(one).not.toBe(two);
});

test("what is refused ends it at once, also behind the message", async () => {
  for (const refused of ["chat.send", "chat.history"]) {
    const gateway = await fakeGateway(({ method }) => {
      if (method === refused) throw new Refusal("denied", "not with this token");
      return { id: "web:1", now: "it is worked on" };
    });
    const run = await parley(gateway.home, ["send", "hi"]);
    expect(run).toEqual({ exitCode: 1, out: "", err: "not with this token\n" });
  }
});

test("what no frame holds is not sent, and nobody waits for a gateway that would hang up on it", async () => {
  const gateway = await fakeGateway(() => ({ id: "web:1", sessionKey: "s", duplicate: false }));
  const run = await parley(gateway.home, ["send", "--no-wait", "ü".repeat(1_050_000)]);
  expect([run.exitCode, run.out]).toEqual([2, ""]);
  expect(run.err).toMatch(
    /^This is too much at once: 2,100,\d{3} bytes, and the gateway takes 2,097,152\. Nothing was sent\. Make it shorter, or give it in parts\.\n$/,
  );
  const piped = await parley(gateway.home, ["chat"], {
    input: new PassThrough().end("x".repeat(2_100_000)),
  });
  expect([piped.exitCode, piped.out, piped.err.split(":")[0]]).toEqual([2, "", "This is too much at once"]);
  expect(asking(gateway).map(([method]) => method)).toEqual(["connect", "connect"]);
});

test("a gateway that is not there is not waited for; one that went away is, for a while", async () => {
  const isSent = Promise.withResolvers<void>();
  const gateway = await fakeGateway(({ method }) => {
    if (method === "why") gateway.goAway();
    else isSent.resolve();
    return { id: "web:1" };
  });
  stopTime();
  const running = parley(gateway.home, ["send", "hi"]);
  await isSent.promise;
  const { exitCode, out, err } = await passUntil(running);
  expect([exitCode, out]).toEqual([1, ""]);
  expect(err).toMatch(
    /^The gateway went away; what was said is kept\. Waiting for it to be back \.\.\.\nThe gateway [^\n]*\n[^\n]*\n$/,
  );
  expect(performance.now()).toBeGreaterThan(90_000);
  // It never was there: nothing was said that could be kept.
  const never = await parley(gateway.home, ["send", "hi"]);
  expect([never.exitCode, never.err]).toEqual([1, expect.stringMatching(/^The gateway is not running at /)]);
});

test("each absence is told and is one of its own, and nothing is said twice", async () => {
  let [absences, isThere, hasEnded] = [2, false, false];
  const gateway = await fakeGateway(({ method }) => {
    isThere = true;
    if (method === "why" && absences-- > 0) {
      isThere = false;
      gateway.hangUp("the gateway restarts");
    }
    return method === "chat.history"
      ? { messages: [{ seq: 12, role: "assistant", text: "at last" }], working: false }
      : { id: "web:1", now: null };
  });
  stopTime();
  let told = 0;
  const running = parley(gateway.home, ["send", "hi"], {
    onErr(soFar) {
      const times = soFar.split("The gateway went away").length - 1;
      // It waits once it has said so.
      if (times > told) setImmediate(() => void vi.advanceTimersByTime(1_000));
      told = times;
    },
  }).finally(() => void (hasEnded = true));
  while (!hasEnded) {
    await new Promise((resolve) => setImmediate(resolve));
    if (isThere) vi.advanceTimersByTime(250);
  }
  const away = "The gateway went away; what was said is kept. Waiting for it to be back ...\n";
  expect(await running).toEqual({ exitCode: 0, out: "at last\n", err: away.repeat(2) });
  const sent = gateway.requests.filter(({ method }) => method === "chat.send").map(({ params }) => params);
  expect(sent).toEqual([sent[0], sent[0], sent[0]]);
});
