// When the page connects again after a break: later after each failure, at once after a person's word, and
// never once it is logged out.
import type { ConnectResult } from "@parley/protocol";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { connection } from "../src/session/connection.ts";
import type { ConnectionState } from "../src/session/state.ts";
import { stoppedClock } from "./pages/show-page.ts";

type Told = { readonly id: string; readonly method: string; readonly params: { readonly auth?: object } };

/** A line that the test opens, answers and breaks. */
class Line extends EventTarget {
  static readonly OPEN = 1;
  static all: Line[] = [];
  readyState = 0;
  readonly sent: Told[] = [];
  readonly url: string;
  constructor(url: string) {
    super();
    this.url = url;
    Line.all.push(this);
  }
  send(text: string): void {
    this.sent.push(JSON.parse(text) as Told);
  }
  close(): void {
    this.readyState = 3;
    this.dispatchEvent(new Event("close"));
  }
  opens(): void {
    this.readyState = Line.OPEN;
    this.dispatchEvent(new Event("open"));
  }
  answers(answer: object): void {
    const id = this.sent.at(-1)?.id;
    this.dispatchEvent(new MessageEvent("message", { data: JSON.stringify({ type: "res", id, ...answer }) }));
  }
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
};

beforeEach(() => {
  Line.all = [];
  vi.stubGlobal("WebSocket", Line);
  onTestFinished(() => void vi.unstubAllGlobals());
});

function page({ kept = "kept" as string | null, chances = [1] as readonly number[] } = {}) {
  const clock = stoppedClock();
  const states: ConnectionState[] = [];
  const [shelf, opened] = [{ token: kept, scopes: [] as readonly string[] }, [] as ConnectResult[]];
  let nth = 0;
  let open: () => Promise<void> = async () => {};
  const made = connection({
    base: "http://h:1/way",
    token: {
      read: () => shelf.token,
      keep: (token: string) => void (shelf.token = token),
      forget: () => void (shelf.token = null),
      scopes: () => shelf.scopes,
      keepScopes: (scopes: readonly string[]) => void (shelf.scopes = scopes),
    } as never,
    clock,
    ids: {
      uuid: () => "u",
      code: (letters: string, chars: number) => `own-${new Set(letters.match(/[A-Za-z0-9]/g)).size}-${chars}`,
      chance: () => chances[(nth += 1) % chances.length] ?? 1,
    },
    onChange: (state) => void states.push(state),
    onEvent: () => {},
    follows: () => ({ thread: "t", lastSeq: Line.all.length }),
    onOpen: async (_link, welcome) => {
      opened.push(welcome);
      await open();
    },
  });
  onTestFinished(() => made.end());
  const welcome = { protocol: 1, scopes: ["read"], peer: "web-1", seq: 0, resync: false };
  const last = (): Line => {
    const line = Line.all.at(-1);
    if (line === undefined) throw new Error("no line was opened");
    return line;
  };
  /** The line comes up and the gateway lets the page in. */
  const comesUp = async (more: object = {}): Promise<void> => {
    last().opens();
    await settle();
    last().answers({ ok: true, payload: { ...welcome, ...more } });
    await settle();
  };
  const refuses = async (error: object): Promise<void> => {
    last().opens();
    await settle();
    last().answers({ ok: false, error });
    await settle();
  };
  const breaks = async (): Promise<void> => {
    last().close();
    await settle();
  };
  /** How long it waits until it tries again, to the tenth of a second. */
  const waited = async (): Promise<number> => {
    const before = Line.all.length;
    for (let ms = 0; ms <= 60_000; ms += 50) {
      if (Line.all.length > before) return ms;
      clock.pass(50);
      await Promise.resolve();
    }
    return -1;
  };
  return {
    made,
    states,
    shelf,
    opened,
    last,
    comesUp,
    refuses,
    breaks,
    waited,
    onOpen: (act: () => Promise<void>) => void (open = act),
  };
}

test("each failure doubles the wait, to five seconds at most; what came up begins anew", async () => {
  const { made, breaks, waited, comesUp, states } = page();
  made.start(null);
  const waits: number[] = [];
  for (let nth = 0; nth < 6; nth += 1) {
    await breaks();
    waits.push(await waited());
  }
  expect(waits).toEqual([500, 1_000, 2_000, 4_000, 5_000, 5_000]);
  await comesUp();
  expect(made.state).toEqual({ kind: "online" });
  await breaks();
  expect(await waited()).toBe(500);
  await breaks();
  expect(await waited()).toBe(1_000);
  // While it fails again and again a person sees one state that began with the first failure.
  const offline = states.flatMap((state) => (state.kind === "offline" ? [state.sinceMs] : []));
  expect(new Set(offline).size).toBe(2);
  expect(states.filter(({ kind }) => kind === "connecting")).toHaveLength(1);
});

test("chance takes up to half of the wait away, so that pages do not come all at once", async () => {
  const { made, breaks, waited } = page({ chances: [0.5, 0, 1] });
  made.start(null);
  const waits: number[] = [];
  for (let nth = 0; nth < 4; nth += 1) {
    await breaks();
    waits.push(await waited());
  }
  expect(waits).toEqual([250, 1_000, 1_500, 2_000]);
});

test("a gateway that asks for more time gets it; one that asks for less does not shorten the wait", async () => {
  const { made, refuses, waited } = page();
  made.start(null);
  await refuses({ code: "rate_limited", message: "later", retryAfterMs: 7_000 });
  expect(await waited()).toBe(7_000);
  await refuses({ code: "rate_limited", message: "later", retryAfterMs: 10 });
  expect(await waited()).toBe(1_000);
});

test("a line that came up and could not be used counts as a failure", async () => {
  const { made, comesUp, waited, onOpen, states } = page();
  onOpen(() => Promise.reject(new Error("the history cannot be read")));
  made.start(null);
  await comesUp();
  expect([made.state.kind, await waited()]).toEqual(["offline", 500]);
  await comesUp();
  expect(await waited()).toBe(1_000);
  onOpen(async () => {});
  await comesUp();
  expect(states.at(-1)).toEqual({ kind: "online" });
});

test("a person's word tries at once and begins the waits anew; a hurry alone only skips the wait", async () => {
  const { made, breaks, waited, last } = page();
  made.start(null);
  for (let nth = 0; nth < 3; nth += 1) {
    await breaks();
    await waited();
  }
  await breaks();
  made.hurry();
  expect(Line.all).toHaveLength(5);
  await breaks();
  expect(await waited()).toBe(5_000);
  await breaks();
  made.login("  typed ");
  expect(Line.all).toHaveLength(7);
  last().opens();
  await settle();
  expect(last().sent[0]).toMatchObject({
    method: "connect",
    params: { auth: { token: "typed", remember: true }, thread: "t", lastSeq: 6 },
  });
  await breaks();
  expect(await waited()).toBe(500);
  expect(last().url).toMatch(/^ws:\/\/h:1\/way\//);
});

test("a token that was taken back gives way to the link's code once, and then to the login", async () => {
  const { made, refuses, waited, last, shelf } = page();
  made.start("code-1");
  await refuses({ code: "unauthorized", message: "revoked" });
  expect([shelf.token, made.scopes, await waited()]).toEqual([null, [], 500]);
  last().opens();
  await settle();
  expect(last().sent[0]?.params.auth).toEqual({ code: "code-1", deviceToken: "own-62-43" });
  last().answers({ ok: false, error: { code: "unauthorized", message: "used before" } });
  await settle();
  expect([made.state, await waited()]).toEqual([{ kind: "logged-out", reason: "used before" }, -1]);
});

test("what a login gives is kept, and used at the next attempt", async () => {
  const { made, comesUp, breaks, waited, last, shelf, opened } = page({ kept: null });
  made.start("code-1");
  await comesUp({ deviceToken: "device", scopes: ["read", "write"], peer: "web-9" });
  expect([shelf.token, shelf.scopes, made.scopes, made.peer]).toEqual([
    "device",
    ["read", "write"],
    ["read", "write"],
    "web-9",
  ]);
  expect(opened).toHaveLength(1);
  await breaks();
  await waited();
  last().opens();
  await settle();
  expect(last().sent[0]?.params.auth).toEqual({ token: "device" });
});

test("whoever logged out or left is not connected again", async () => {
  const { made, comesUp, waited, shelf, states } = page();
  made.start(null);
  await comesUp();
  const before = states.length;
  made.logout();
  await settle();
  expect(states.slice(before)).toEqual([{ kind: "logged-out", reason: null }]);
  expect([made.state, shelf.token, await waited()]).toEqual([{ kind: "logged-out", reason: null }, null, -1]);
  await expect(made.request("health", {})).rejects.toMatchObject({ code: "closed" });
  made.login("again");
  await comesUp();
  made.renew();
  await settle();
  expect(made.state.kind).toBe("offline");
  made.end();
  expect(await waited()).toBe(-1);
  expect(states.at(-1)?.kind).toBe("offline");
  const nobody = page({ kept: null });
  nobody.made.start(null);
  expect(nobody.made.state).toEqual({ kind: "logged-out", reason: null });
});
