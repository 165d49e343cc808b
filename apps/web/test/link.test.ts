// One line to the gateway, by a clock that the test moves: how long an answer, the handshake and silence may
// last, what is asked over a line that is open, and how it ends, once.
import { protocolRange } from "@parley/protocol";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { openLink, RequestFailure, type Link } from "../src/session/link.ts";
import { stoppedClock } from "./pages/show-page.ts";

class Line extends EventTarget {
  static readonly OPEN = 1;
  static last: Line;
  readyState = 0;
  readonly sent: { readonly id: string; readonly method: string; readonly params: object }[] = [];
  readonly url: string;
  closes = 0;
  constructor(url: string) {
    super();
    this.url = url;
    Line.last = this;
  }
  send(text: string): void {
    this.sent.push(JSON.parse(text) as never);
  }
  close(): void {
    this.closes += 1;
    this.readyState = 3;
  }
  async opens(): Promise<void> {
    this.readyState = Line.OPEN;
    this.dispatchEvent(new Event("open"));
    await settle();
  }
  async hears(frame: object): Promise<void> {
    this.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(frame) }));
    await settle();
  }
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 2; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
};

beforeEach(() => {
  vi.stubGlobal("WebSocket", Line);
  onTestFinished(() => void vi.unstubAllGlobals());
});

function opening(base = "https://h/way") {
  const clock = stoppedClock();
  const events: unknown[] = [];
  let closed = 0;
  let failure: unknown = null;
  let link: Link | null = null;
  void openLink({
    base,
    hello: { auth: { token: "t" }, thread: "b", lastSeq: 4 },
    clock,
    onEvent: (event) => void events.push(event),
    onClose: () => (closed += 1),
  }).then(
    (made) => (link = made.link),
    (error: unknown) => (failure = error),
  );
  const line = Line.last;
  return {
    clock,
    line,
    events,
    closed: () => closed,
    failure: () => failure,
    async welcomed(): Promise<Link> {
      await line.opens();
      await line.hears({ type: "res", id: line.sent[0]?.id, ok: true, payload: { scopes: [] } });
      if (link === null) throw new Error("it was not let in");
      return link;
    },
    async pass(ms: number) {
      clock.pass(ms);
      await settle();
    },
  };
}

/** How a request ended: what came, or the code and whether it may be done all the same. */
const ended = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    (payload) => payload,
    (error: unknown) =>
      error instanceof RequestFailure ? [error.code, error.message, error.wasSent] : error,
  );

test("says who it is when the line is open, and not before; http becomes ws, https wss", async () => {
  const l = opening();
  await settle();
  expect([l.line.url, l.line.sent]).toEqual(["wss://h/way/ws", []]);
  await l.line.opens();
  expect(l.line.sent).toEqual([
    {
      type: "req",
      id: "1",
      method: "connect",
      params: {
        protocol: protocolRange,
        client: { name: "web", version: "1" },
        auth: { token: "t" },
        thread: "b",
        lastSeq: 4,
      },
    },
  ]);
  expect(opening("http://h:1").line.url).toBe("ws://h:1/ws");
});

test("a line that does not open, or does not answer, within ten seconds is none; nobody is told that it closed", async () => {
  const silent = opening();
  await silent.pass(9_999);
  expect(silent.failure()).toBe(null);
  await silent.pass(1);
  expect(silent.failure()).toMatchObject({ code: "closed", wasSent: true });
  expect([silent.closed(), silent.line.closes]).toEqual([0, 1]);
  const mute = opening();
  await mute.line.opens();
  await mute.pass(10_000);
  expect([mute.failure() instanceof RequestFailure, mute.closed()]).toEqual([true, 0]);
  const refused = opening();
  await refused.line.opens();
  await refused.line.hears({
    type: "res",
    id: "1",
    ok: false,
    error: { code: "unauthorized", message: "no", retryAfterMs: 7 },
  });
  expect(refused.failure()).toMatchObject({
    code: "unauthorized",
    message: "no",
    retryAfterMs: 7,
    wasSent: false,
  });
  expect([refused.closed(), refused.line.closes]).toEqual([0, 1]);
});

test("each answer goes to its request, whatever the order; one without a reason says so", async () => {
  const l = opening();
  const link = await l.welcomed();
  const [one, two, three] = [
    ended(link.request("health", {})),
    ended(link.request("status", {})),
    ended(link.request("agents.list", {})),
  ];
  await l.line.hears({ type: "res", id: "4", ok: false });
  await l.line.hears({ type: "res", id: "3", ok: true, payload: "two" });
  await l.line.hears({ type: "res", id: "99", ok: true, payload: "of nobody" });
  await l.line.hears({ type: "event", event: "chat.message", payload: { seq: 1 }, seq: 1 });
  await l.line.hears({ type: "res", id: "2", ok: true, payload: "one" });
  expect([await one, await two, await three]).toEqual([
    "one",
    "two",
    ["internal", "The gateway gave no reason.", false],
  ]);
  expect(l.events).toEqual([{ type: "event", event: "chat.message", payload: { seq: 1 }, seq: 1 }]);
});

test("while an answer is awaited ten seconds without a word end the line; any word begins them anew", async () => {
  const l = opening();
  const link = await l.welcomed();
  const asked = ended(link.request("status", {}));
  await l.pass(9_999);
  // Another request does not.
  const other = ended(link.request("health", {}));
  await l.line.hears({ type: "event", event: "chat.typing", payload: {} });
  await l.pass(9_999);
  expect(l.closed()).toBe(0);
  await l.pass(1);
  expect([await asked, await other, l.closed(), l.line.closes]).toEqual([
    ["closed", "The connection was lost.", true],
    ["closed", "The connection was lost.", true],
    1,
    1,
  ]);
  // It is over: what comes late changes nothing, what is asked does not leave.
  await l.line.hears({ type: "event", event: "chat.typing", payload: {} });
  l.line.dispatchEvent(new Event("close"));
  link.close();
  expect([l.events.length, l.closed()]).toEqual([1, 1]);
  const sent = l.line.sent.length;
  expect(await ended(link.request("status", {}))).toEqual(["closed", "The connection was lost.", false]);
  link.probe();
  await l.pass(60_000);
  expect([l.line.sent.length, l.closed()]).toEqual([sent, 1]);
});

test("after thirty seconds of silence it asks whether somebody is there, and ends when nobody is", async () => {
  const l = opening();
  await l.welcomed();
  await l.pass(29_999);
  expect(l.line.sent).toHaveLength(1);
  await l.pass(1);
  expect(l.line.sent.slice(1)).toEqual([{ type: "req", id: "2", method: "health", params: {} }]);
  await l.line.hears({ type: "res", id: "2", ok: true, payload: {} });
  await l.pass(29_999);
  expect(l.line.sent).toHaveLength(2);
  await l.pass(1);
  expect(l.line.sent).toHaveLength(3);
  await l.pass(10_000);
  expect(l.closed()).toBe(1);
});

test("a look at the line asks once, and nothing where an answer is awaited anyway; a closing socket takes nothing", async () => {
  const l = opening();
  const link = await l.welcomed();
  link.probe();
  link.probe();
  expect(l.line.sent.slice(1).map(({ method }) => method)).toEqual(["health"]);
  await l.line.hears({ type: "res", id: "2", ok: false, error: { code: "internal", message: "x" } });
  l.line.readyState = 2;
  expect(await ended(link.request("status", {}))).toEqual(["closed", "The connection was lost.", false]);
  l.line.dispatchEvent(new Event("close"));
  expect(l.closed()).toBe(1);
});
