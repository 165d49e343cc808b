// What is done once although its answer is lost: the line dies after a request left, before it left, for
// good, or with a refusal next.
import { systemClock, systemIds, type MethodName } from "@parley/protocol";
import { expect, onTestFinished, test } from "vitest";
import { Act } from "../src/parts/act.ts";
import { wordsOf } from "../src/parts/reading.ts";
import { chatSession } from "../src/session/chat-session.ts";
import { storedToken } from "../src/session/credential.ts";
import { askOnce, type KeyedOptions } from "../src/session/keyed.ts";
import { lostLine, RequestFailure } from "../src/session/link.ts";
import { storedOutbox } from "../src/session/outbox.ts";
import type { ConnectionState } from "../src/session/state.ts";
import { fakeGateway, memoryStorage } from "./fake-gateway.ts";

const acts = [
  ["approvals.resolve", { id: "a", decision: "once" }],
  ["dead.retry", { id: "d" }],
  ["dead.drop", { id: "d" }],
  ["outbox.retry", { id: "o" }],
  ["outbox.drop", { id: "o" }],
  ["cron.run", { id: "c" }],
  ["cron.add", { job: { name: "n" } }],
  ["config.apply", { text: "{}", baseHash: "h" }],
  ["memory.decide", { id: "m", decision: "accept" }],
  ["memory.undo", { id: "m" }],
] as const;

async function openLine() {
  const gateway = await fakeGateway();
  const storage = memoryStorage();
  storedToken(storage).keep("device-token");
  const watchers = new Set<() => void>();
  const clock = systemClock();
  const session = chatSession({
    base: gateway.origin,
    token: storedToken(storage),
    outbox: storedOutbox(storage),
    clock,
    ids: systemIds(),
    onChange: () => {
      for (const hear of watchers) hear();
    },
  });
  onTestFinished(() => session.end());
  const onChange = (hear: () => void) => {
    watchers.add(hear);
    // Does not sit through the waits between two attempts to connect.
    setImmediate(() => session.hurry());
    return () => void watchers.delete(hear);
  };
  session.start(null);
  while (session.line.state.kind !== "online") await new Promise((resolve) => setTimeout(resolve, 2));
  const ask = (method: MethodName, params: object) =>
    askOnce({ line: session.line, clock, onChange }, method, params as never);
  const asked = (method: string) => gateway.requests.filter((each) => each.method === method);
  return { gateway, session, ask, asked };
}

test.for(acts)(
  "%s: an answer lost on its way comes over the next line, under the same key",
  async ([method, params]) => {
    const { gateway, ask, asked } = await openLine();
    let cuts = 0;
    gateway.beforeAnswer = (request) => {
      if (request.method !== method || cuts === 2) return undefined;
      cuts += 1;
      return "cut";
    };
    expect(await ask(method, { ...params, idempotencyKey: "k1" })).toEqual({ stopped: true, cancelled: 0 });
    expect(asked(method).map((each) => each.params)).toEqual(
      Array.from({ length: 3 }, () => ({ ...params, idempotencyKey: "k1" })),
    );
  },
);

test("what has no key is asked once, and nobody says that it failed", async () => {
  const { gateway, ask, asked } = await openLine();
  gateway.beforeAnswer = ({ method }) => (method === "sessions.forget" ? "cut" : undefined);
  const failure = await ask("sessions.forget", { key: "s" }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "closed", wasSent: true });
  expect(wordsOf(failure)).toMatch(/before the answer came; look whether it is done/);
  expect(asked("sessions.forget")).toHaveLength(1);
});

test("what could not leave has failed, and is not done later", async () => {
  const { session, ask, asked } = await openLine();
  session.line.logout();
  const failure = await ask("cron.run", { id: "c", idempotencyKey: "k" }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "closed", wasSent: false });
  expect(wordsOf(failure)).toBe("the gateway cannot be reached");
  expect(asked("cron.run")).toEqual([]);
});

test("a refusal of the repeat is told as it is", async () => {
  const { gateway, ask, asked } = await openLine();
  gateway.beforeAnswer = ({ method }) => {
    if (method !== "dead.retry") return undefined;
    return asked("dead.retry").length === 1 ? "cut" : { code: "conflict", message: "it is gone" };
  };
  await expect(ask("dead.retry", { id: "d", idempotencyKey: "k" })).rejects.toMatchObject({
    code: "conflict",
    wasSent: false,
  });
  expect(asked("dead.retry")).toHaveLength(2);
});

test.for([
  ["two minutes without a line", { kind: "offline", sinceMs: 0 }],
  ["a token that was taken away", { kind: "logged-out", reason: "revoked" }],
] as const)("after %s nobody knows, and it is not asked again", async ([, ends]) => {
  const due: (() => void)[] = [];
  const clock: KeyedOptions["clock"] = {
    after(ms, run) {
      expect(ms).toBe(120_000);
      due.push(run);
      return { cancel: () => void due.pop() };
    },
  };
  let state: ConnectionState = { kind: "online" };
  const hearers = new Set<() => void>();
  let asked = 0;
  const options: KeyedOptions = {
    clock,
    line: {
      get state() {
        return state;
      },
      async request() {
        asked += 1;
        state = { kind: "offline", sinceMs: 0 };
        throw lostLine(true);
      },
    },
    onChange: (hear) => {
      hearers.add(hear);
      return () => void hearers.delete(hear);
    },
  };
  const asking = askOnce(options, "cron.run", { id: "c", idempotencyKey: "k" }).catch(
    (error: unknown) => error,
  );
  await new Promise(setImmediate);
  expect([asked, hearers.size, due.length]).toEqual([1, 1, 1]);
  state = ends;
  for (const hear of hearers) hear();
  if (ends.kind === "offline") due[0]?.();
  const failure = await asking;
  expect(failure).toBeInstanceOf(RequestFailure);
  expect(failure).toMatchObject({ code: "closed", wasSent: true });
  expect([asked, hearers.size, due.length]).toEqual([1, 0, 0]);
});

test("a line that says it stands and takes nothing is asked at intervals, and not as fast as it refuses", async () => {
  const waits: { readonly ms: number; readonly run: () => void }[] = [];
  const ends = [lostLine(true), lostLine(), lostLine()];
  let asked = 0;
  const options: KeyedOptions = {
    clock: {
      after(ms, run) {
        if (ms < 120_000) waits.push({ ms, run });
        return { cancel: () => undefined };
      },
    },
    line: {
      state: { kind: "online" },
      request: () => {
        asked += 1;
        const failure = ends.shift();
        return failure === undefined ? Promise.resolve({ started: true } as never) : Promise.reject(failure);
      },
    },
    onChange: () => () => undefined,
  };
  const asking = askOnce(options, "cron.run", { id: "c", idempotencyKey: "k" });
  for (const before of [2, 3]) {
    await new Promise(setImmediate);
    expect([asked, waits.map(({ ms }) => ms)]).toEqual([before, [250]]);
    waits.shift()?.run();
  }
  expect(await asking).toEqual({ started: true });
});

test.for([
  [lostLine(), "That failed: the gateway cannot be reached"],
  [
    lostLine(true),
    "Nobody knows yet: the connection broke before the answer came; look whether it is done before you repeat it",
  ],
  [new RequestFailure({ code: "conflict", message: "it is gone" }), "That failed: it is gone"],
] as const)("a button tells %s as what it is", async ([failure, told]) => {
  if (customElements.get("parley-act") === undefined) customElements.define("parley-act", Act);
  const button = Object.assign(new Act(), { run: () => Promise.reject(failure) });
  button.press();
  await new Promise(setImmediate);
  expect([button.stage, button.told]).toEqual(["failed", told]);
});
