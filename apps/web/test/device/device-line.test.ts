// A browser as a device, at its line: how it pairs, what it takes and tells, what it keeps, how it comes back
// and how it ends.
import { expect, onTestFinished, test } from "vitest";
import { deviceLine, type DeviceState, type WaitingCall } from "../../src/device/device-line.ts";
import { openShelf, type PairedAs } from "../../src/device/shelf.ts";
import { RequestFailure } from "../../src/session/link.ts";
import { nowMs, stoppedClock } from "../pages/show-page.ts";
import { cut, fakeLine, refusal, settle, wholeBrowser, type Shown } from "./browser.ts";

const code = "c".repeat(20);
const bare: PairedAs = { token: "kept", name: "phone", grants: ["notify"], most: ["notify", "camera"] };

/** Its service worker's side: what it showed, and to whom pushes go. */
function pushWorker(key: Uint8Array | null) {
  const shown: Shown[] = [];
  const told: string[] = [];
  const subscriptionOf = (of: Uint8Array, name: string): object => ({
    options: { applicationServerKey: of.buffer },
    unsubscribe: async () => void (told.push(`${name} left`), (current = null)),
    toJSON: () => ({
      endpoint: `https://push.example/${name}`,
      keys: { p256dh: `p-${name}`, auth: `a-${name}` },
    }),
  });
  let current: object | null = key === null ? null : subscriptionOf(key, "old");
  return {
    shown,
    told,
    registration: {
      showNotification: async (title: string, options: Omit<Shown, "title">) =>
        void shown.push({ title, ...options }),
      pushManager: {
        getSubscription: async () => current,
        async subscribe({
          userVisibleOnly,
          applicationServerKey,
        }: {
          userVisibleOnly: boolean;
          applicationServerKey: Uint8Array;
        }) {
          told.push(`subscribes, visible ${userVisibleOnly}, ${[...applicationServerKey].join(" ")}`);
          return (current = subscriptionOf(applicationServerKey, "new"));
        },
      },
    } as never,
  };
}

async function device(parts: {
  readonly paired?: PairedAs | null;
  readonly calls?: readonly (Partial<WaitingCall> & { id: string; command: WaitingCall["command"] })[];
  readonly worker?: ReturnType<typeof pushWorker> | null;
  readonly platform?: string;
}) {
  const browser = wholeBrowser(parts.platform === undefined ? {} : { platform: parts.platform });
  let calls: readonly object[] = (parts.calls ?? []).map((call) => ({ forMs: 60_000, ...call }));
  const answers: { [method: string]: (params: never) => unknown } = {
    connect: () => ({}),
    "device.calls": () => ({
      name: "phone",
      grants: ["notify", "clipboard"],
      most: ["notify", "clipboard", "camera"],
      calls,
    }),
    "device.result": () => (calls = []),
    "device.push": () => ({ key: "AQID" }),
    "device.grants": ({ grants }: { grants: string[] }) => ({
      grants: grants.slice(0, 1),
      most: ["notify", "share"],
    }),
  };
  const line = fakeLine((method, params) => answers[method]?.(params) ?? {});
  const clock = stoppedClock();
  const shelf = await openShelf(clock.now());
  if (parts.paired !== undefined) await shelf.keepPaired(parts.paired);
  const [states, done, shared, waited] = [
    [] as DeviceState[],
    [] as string[],
    [] as (string | null)[],
    [] as string[],
  ];
  let codes = 0;
  const worker = parts.worker === undefined ? pushWorker(null) : parts.worker;
  let word: "go" | "refused" | "over" = "go";
  const made = deviceLine({
    base: "https://host.example/under",
    shelf,
    worker: Promise.resolve(worker?.registration ?? null),
    clock,
    ids: {
      code: (letters: string, length: number) => `t${(codes += 1)}-${letters.length}-${length}`,
    } as never,
    onChange: (state) => void states.push(state),
    ready: async (call, untilMs) => {
      waited.push(`${call.id} until ${untilMs - nowMs}`);
      return word;
    },
    onDone: (call, isOk) => void done.push(`${call.id} ${isOk}`),
    onShared: (why) => void shared.push(why),
  });
  // It ends with its test: else it would come back through the next one's lines.
  onTestFinished(async () => {
    Object.assign(line, { isDown: false, answer: () => refusal("denied", "over") });
    made.look();
    await settle(12);
  });
  return {
    ...browser,
    answers,
    line,
    clock,
    shelf,
    states,
    done,
    shared,
    waited,
    worker,
    made,
    answerWith: (next: typeof word) => void (word = next),
    callsAre: (next: readonly object[]) => void (calls = next),
    last: () => states.at(-1),
  };
}

test("pairs with its code and a token of its own, tells what it can do, and takes what waits", async () => {
  const d = await device({
    platform: "p".repeat(80),
    calls: [
      { id: "n1", command: "notify", title: "Tea", text: "is ready" },
      { id: "w1", command: "clipboard_write", text: "words", forMs: 5_000 },
    ],
  });
  const written: string[] = [];
  Object.assign(d.navigator.clipboard, { writeText: async (text: string) => void written.push(text) });
  await d.made.pair(code, ["notify", "clipboard", "share"]);
  await settle(20);
  expect(d.line.addresses).toEqual(["wss://host.example/under/ws"]);
  expect(d.line.asked.slice(0, 2)).toEqual([
    `connect {"auth":{"code":"${code}","deviceToken":"t1-62-43","grants":["notify","clipboard","share"]},"follows":false}`,
    `device.calls {"about":{"host":"host.example","platform":"browser, ${"p".repeat(55)}","commands":["notify","clipboard_read","clipboard_write"]}}`,
  ]);
  expect(d.line.asked.filter((each) => each.startsWith("device.result"))).toEqual([
    'device.result {"id":"n1","ok":true,"text":"Shown as a notification."}',
    'device.result {"id":"w1","ok":true,"text":"The text is on its clipboard."}',
  ]);
  expect(d.line.asked.filter((each) => each.startsWith("device.push"))).toEqual([
    "device.push {}",
    'device.push {"subscription":{"endpoint":"https://push.example/new","p256dh":"p-new","auth":"a-new"}}',
  ]);
  expect([written, d.waited, d.done, d.worker?.shown]).toEqual([
    ["words"],
    ["w1 until 5000"],
    ["n1 true", "w1 true"],
    [{ title: "Tea", body: "is ready", tag: "n1", data: { id: "n1" } }],
  ]);
  expect(d.worker?.told).toEqual(["subscribes, visible true, 1 2 3"]);
  const paired = {
    token: "t1-62-43",
    name: "phone",
    grants: ["notify", "clipboard"],
    most: ["notify", "clipboard", "camera"],
  };
  expect(await d.shelf.paired()).toEqual(paired);
  expect(d.last()).toEqual({ paired, isOnline: true, isRevoked: false, noPush: null });
  expect(d.sessionStorage.length).toBe(0);
  expect(await Promise.all(["n1", "w1"].map((id) => d.shelf.call(id)))).toEqual([
    { state: "over", atMs: nowMs },
    { state: "over", atMs: nowMs },
  ]);
});

test("a pairing whose answer is lost is the same one when it is sent again, another code another", async () => {
  const d = await device({});
  d.answers["connect"] = () => cut;
  const fails = { code: "closed", wasSent: true };
  await expect(d.made.pair(code, ["notify"])).rejects.toMatchObject(fails);
  expect(await d.shelf.paired()).toBe(null);
  await expect(d.made.pair(code, ["notify"])).rejects.toMatchObject(fails);
  await expect(d.made.pair(code.slice(1), ["notify"])).rejects.toMatchObject(fails);
  d.answers["connect"] = () => refusal("unauthorized", "the code is used");
  await expect(d.made.pair(code, [])).rejects.toMatchObject({
    code: "unauthorized",
    message: "the code is used",
  });
  expect(d.line.asked.map((each) => /"deviceToken":"(t\d)/.exec(each)?.[1])).toEqual([
    "t1",
    "t1",
    "t2",
    "t3",
  ]);
});

test("comes back after pauses that double to ten seconds, and begins them anew when it was there", async () => {
  const d = await device({ paired: bare });
  d.line.isDown = true;
  d.made.start();
  await settle();
  const attempts = (): number => d.line.addresses.length;
  const story: number[] = [];
  for (const pauseMs of [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
    const before = attempts();
    d.clock.pass(pauseMs - 1);
    await settle();
    expect(attempts()).toBe(before);
    d.clock.pass(1);
    await settle();
    story.push(attempts() - before);
  }
  expect(story).toEqual([1, 1, 1, 1, 1, 1, 1]);
  expect(d.last()).toMatchObject({ isOnline: false, isRevoked: false, paired: bare });
  d.line.isDown = false;
  d.clock.pass(10_000);
  await settle(12);
  expect(d.last()).toMatchObject({ isOnline: true });
  expect(d.line.asked[0]).toBe('connect {"auth":{"token":"kept"},"follows":false}');
  // A line that breaks is made again at once, then after the first pause.
  const before = attempts();
  d.line.isDown = true;
  d.line.end();
  await settle();
  expect([attempts() - before, d.last()?.isOnline]).toEqual([1, false]);
  d.clock.pass(499);
  await settle();
  expect(attempts() - before).toBe(1);
  d.clock.pass(1);
  await settle();
  expect(attempts() - before).toBe(2);
  // Somebody who looks does not wait.
  d.made.look();
  await settle();
  expect(attempts() - before).toBe(3);
});

test("looks for calls every twenty seconds over the same line, and at once when one is told", async () => {
  const d = await device({ paired: bare });
  d.made.start();
  await settle(12);
  const looks = (): number => d.line.asked.filter((each) => each.startsWith("device.calls")).length;
  expect(looks()).toBe(1);
  d.clock.pass(19_999);
  await settle();
  expect(looks()).toBe(1);
  d.clock.pass(1);
  await settle();
  expect(looks()).toBe(2);
  d.line.tell("device.call", {});
  await settle();
  expect(looks()).toBe(3);
  d.line.tell("chat.message", {});
  await settle();
  expect([looks(), d.line.addresses.length]).toEqual([3, 1]);
  // It subscribes once for each line.
  expect(d.line.asked.filter((each) => each === "device.push {}")).toHaveLength(1);
});

test("a call that is at work is not begun again, and what its person refused is told once", async () => {
  const d = await device({ paired: bare, calls: [{ id: "c", command: "clipboard_read", forMs: 7 }] });
  d.answerWith("refused");
  d.answers["device.result"] = () => refusal("unavailable", "later");
  d.made.start();
  await settle(12);
  d.answers["device.result"] = () => ({});
  d.answerWith("go");
  d.made.look();
  await settle(12);
  d.made.look();
  await settle(12);
  expect(d.waited).toEqual(["c until 7"]);
  expect(d.done).toEqual([]);
  const told = 'device.result {"id":"c","ok":false,"text":"Its person refused."}';
  expect(d.line.asked.filter((each) => each.startsWith("device.result"))).toEqual([told, told]);
});

test("nothing is told of a call to which nobody came", async () => {
  const d = await device({ paired: bare, calls: [{ id: "c", command: "camera" }] });
  d.answerWith("over");
  d.made.start();
  await settle(12);
  expect([d.waited, await d.shelf.call("c")]).toEqual([["c until 60000"], null]);
  expect(d.line.asked.filter((each) => each.startsWith("device.result"))).toEqual([]);
});

test("a call that was begun before the page was closed is not done again", async () => {
  const d = await device({
    paired: bare,
    calls: [
      { id: "c", command: "camera" },
      { id: "o", command: "camera" },
    ],
  });
  await d.shelf.keepCall("c", { state: "began", atMs: nowMs });
  await d.shelf.keepCall("o", { state: "over", atMs: nowMs });
  d.made.start();
  await settle(12);
  expect(d.waited).toEqual([]);
  expect(d.line.asked.filter((each) => each.startsWith("device.result"))).toEqual([
    `device.result ${JSON.stringify({ id: "c", ok: false, text: "The page was closed after it had begun this, so what came of it is unknown. It does not do it again." })}`,
  ]);
});

test.for(["unauthorized", "denied"])(
  "a gateway that says %s ends it here: nothing stays of it",
  async (why) => {
    const d = await device({ paired: bare, worker: pushWorker(new Uint8Array([9])) });
    d.answers["device.calls"] = () => refusal(why, "it was revoked");
    d.made.start();
    await settle(12);
    expect([await d.shelf.paired(), d.worker?.told, d.line.open()]).toEqual([null, ["old left"], 0]);
    expect(d.last()).toEqual({ paired: null, isOnline: false, isRevoked: true, noPush: null });
    const attempts = d.line.addresses.length;
    d.clock.pass(60_000);
    d.made.look();
    await settle();
    expect(d.line.addresses).toHaveLength(attempts);
    // It may be paired again.
    d.answers["device.calls"] = () => ({ name: "again", grants: [], most: [], calls: [] });
    await d.made.pair(code, []);
    await settle(12);
    expect(d.last()).toMatchObject({ paired: { name: "again" }, isOnline: true, isRevoked: false });
  },
);

test("another refusal is no end: it tries again, with what it is", async () => {
  const d = await device({ paired: bare });
  d.answers["device.calls"] = () => refusal("unavailable", "it restarts");
  d.made.start();
  await settle(12);
  expect(d.last()).toMatchObject({ paired: bare, isOnline: false, isRevoked: false });
  expect([await d.shelf.paired(), d.line.open()]).toEqual([bare, 0]);
});

test("a token that is to be renewed is chosen here, kept first, and given with its code at the next line", async () => {
  const d = await device({ paired: bare });
  d.made.start();
  await settle(12);
  d.line.tell("device.rotate", { code: "anew" });
  await settle(12);
  const kept = { token: "t1-62-43", code: "anew", name: "phone", grants: ["notify", "clipboard"] };
  expect(await d.shelf.paired()).toMatchObject(kept);
  expect(d.line.asked.filter((each) => each.startsWith("device.calls"))).toHaveLength(2);
  d.line.end();
  await settle(12);
  expect(d.line.asked.filter((each) => each.startsWith("connect"))).toEqual([
    'connect {"auth":{"token":"kept"},"follows":false}',
    'connect {"auth":{"code":"anew","deviceToken":"t1-62-43"},"follows":false}',
  ]);
});

test("a token that is renewed while the calls are asked for stays the new one", async () => {
  const d = await device({ paired: bare });
  let isFirst = true;
  d.answers["device.calls"] = () => {
    if (isFirst) d.line.tell("device.rotate", { code: "anew" });
    isFirst = false;
    return { name: "phone", grants: ["notify"], most: ["notify"], calls: [] };
  };
  d.made.start();
  await settle(16);
  expect(await d.shelf.paired()).toMatchObject({ token: "t1-62-43", code: "anew", name: "phone" });
});

test("a call that another page holds is left to it, and what this browser lacks is not offered", async () => {
  const d = await device({
    paired: { ...bare, grants: ["notify", "clipboard"] },
    calls: [{ id: "c", command: "camera" }],
  });
  delete (d.navigator as { clipboard?: object }).clipboard;
  d.held.add("parley-call-c");
  d.made.start();
  await settle(12);
  expect([d.waited, await d.shelf.call("c")]).toEqual([[], null]);
  expect(d.line.asked.find((each) => each.startsWith("device.calls"))).toContain('"commands":["notify"]');
});

test("what was shared goes out in turn under its key; a refusal is told and ends it, a broken line does not", async () => {
  const d = await device({ paired: bare });
  const file = { name: "a.txt", mediaType: "text/plain", data: "YQ==" };
  for (const [key, text] of [
    ["k1", "one"],
    ["k2", "two"],
    ["k3", "three"],
    ["k4", "four"],
  ] as const)
    await d.shelf.keepShared({ key, text, files: key === "k1" ? [file] : [] });
  d.answers["device.share"] = ({ text }: { text: string }) =>
    text === "two"
      ? refusal("denied", "not granted")
      : text === "three"
        ? refusal("invalid", "too long")
        : text === "four"
          ? refusal("unavailable", "later")
          : {};
  d.made.start();
  await settle(20);
  expect(d.line.asked.filter((each) => each.startsWith("device.share"))).toEqual([
    `device.share ${JSON.stringify({ text: "one", files: [file], idempotencyKey: "k1" })}`,
    'device.share {"text":"two","files":[],"idempotencyKey":"k2"}',
    'device.share {"text":"three","files":[],"idempotencyKey":"k3"}',
    'device.share {"text":"four","files":[],"idempotencyKey":"k4"}',
  ]);
  expect(d.shared).toEqual([null, "not granted", "too long"]);
  expect((await d.shelf.shared()).map(({ key }) => key)).toEqual(["k4"]);
});

test("pushes: why they do not come, and who made the one that is there", async () => {
  const without = await device({ paired: bare, worker: null });
  without.made.start();
  await settle(12);
  expect(without.last()?.noPush).toBe("this browser takes no pushes");
  for (const [permission, key, told, noPush] of [
    ["denied", null, [], "notifications are not allowed"],
    ["default", null, [], "notifications are not allowed"],
    ["granted", [1, 2, 3], [], null],
    ["granted", [1, 2, 4], ["old left", "subscribes, visible true, 1 2 3"], null],
    ["granted", [1, 2], ["old left", "subscribes, visible true, 1 2 3"], null],
  ] as const) {
    const d = await device({ paired: bare, worker: pushWorker(key === null ? null : new Uint8Array(key)) });
    d.Notification.permission = permission;
    d.made.start();
    await settle(16);
    expect([d.worker?.told, d.last()?.noPush], `${permission} ${String(key)}`).toEqual([told, noPush]);
    const sent = d.line.asked.filter((each) => each.startsWith('device.push {"subscription'));
    const name = told.length > 0 ? "new" : "old";
    const subscription = { endpoint: `https://push.example/${name}`, p256dh: `p-${name}`, auth: `a-${name}` };
    expect(sent).toEqual(noPush === null ? [`device.push ${JSON.stringify({ subscription })}`] : []);
  }
});

test("pushes that were not allowed at first come once they are", async () => {
  const d = await device({ paired: bare });
  d.Notification.permission = "denied";
  d.made.start();
  await settle(12);
  expect(d.last()?.noPush).toBe("notifications are not allowed");
  d.Notification.permission = "granted";
  await d.made.subscribe();
  expect(d.last()?.noPush).toBe(null);
});

test("grants are what the gateway says, and cannot be changed without a line; leaving forgets all", async () => {
  const d = await device({ paired: bare, worker: pushWorker(new Uint8Array([1, 2, 3])) });
  await expect(d.made.setGrants(["camera"])).rejects.toBeInstanceOf(RequestFailure);
  d.made.start();
  await settle(12);
  const before = d.line.asked.length;
  d.answers["device.calls"] = () => ({
    name: "phone",
    grants: ["camera"],
    most: ["notify", "share"],
    calls: [],
  });
  await d.made.setGrants(["camera", "share"]);
  expect(d.line.asked[before]).toBe('device.grants {"grants":["camera","share"]}');
  expect(await d.shelf.paired()).toEqual({ ...bare, grants: ["camera"], most: ["notify", "share"] });
  await settle();
  expect(d.line.asked.slice(before + 1)).toEqual([
    expect.stringMatching(/^device\.calls .*"commands":\["camera"\]/),
  ]);
  await d.made.leave();
  expect(d.line.asked.at(-1)).toBe("device.leave {}");
  expect([await d.shelf.paired(), d.worker?.told, d.line.open()]).toEqual([null, ["old left"], 0]);
  expect(d.last()).toEqual({ paired: null, isOnline: false, isRevoked: false, noPush: null });
});

test("the shelf forgets calls after ten days, and no sooner", async () => {
  wholeBrowser();
  const first = await openShelf(nowMs);
  const tenDaysMs = 10 * 86_400_000;
  await first.keepCall("old", { state: "over", atMs: nowMs - tenDaysMs - 1 });
  await first.keepCall("kept", { state: "began", atMs: nowMs - tenDaysMs });
  await first.keepCall("older", { state: "over", atMs: nowMs - tenDaysMs - 2 });
  const again = await openShelf(nowMs);
  expect(await Promise.all(["old", "kept", "older"].map((id) => again.call(id)))).toEqual([
    null,
    { state: "began", atMs: nowMs - tenDaysMs },
    null,
  ]);
});
