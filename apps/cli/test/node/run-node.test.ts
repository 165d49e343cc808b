// A device at a gateway: how it logs in, which calls it runs, what it tells and keeps, and when it gives up.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { systemClock, type Clock, type RequestFrame } from "@parley/protocol";
import { expect, test } from "vitest";
import { startOf } from "../../src/is-alive.ts";
import { runNode, type NodeOptions } from "../../src/node/run-node.ts";
import { fakeGateway, parley, Refusal, stateFolder, type FakeGateway } from "../fake-gateway.ts";

const call = (letter: string, text: string) => ({
  id: letter.repeat(32),
  forMs: 9_000,
  command: "notify",
  text,
});

/**
 * A gateway that hands these calls over, a look after the other; `says` decides what a result is answered.
 */
async function stage(
  looks: readonly (readonly object[])[] = [],
  {
    refuses,
    lost = 0,
  }: { readonly refuses?: (auth: object) => string | undefined; readonly lost?: number } = {},
) {
  const left = [...looks];
  let losses = lost;
  const logins: object[] = [];
  const results: unknown[] = [];
  let onLook: () => void = () => undefined;
  const gateway = await fakeGateway(
    ({ method, params }) => {
      if (method === "device.result") {
        if (losses > 0) {
          losses -= 1;
          throw new Refusal("unavailable", "the store is away");
        }
        results.push(params);
        return { accepted: true };
      }
      if (method !== "device.calls") throw new Refusal("invalid", `what is ${method}?`);
      setImmediate(onLook);
      return { name: "laptop", grants: ["notify", "run"], most: [], calls: left.shift() ?? [] };
    },
    ({ params }: RequestFrame) => {
      const { auth } = params as { readonly auth: object };
      logins.push(auth);
      return refuses?.(auth);
    },
  );
  return { gateway, logins, results, onLook: (run: () => void) => void (onLook = run) };
}

function device(gateway: FakeGateway, options: Partial<NodeOptions> & { readonly json?: boolean } = {}) {
  const ending = new AbortController();
  const folder = stateFolder(null, null);
  const [input, out, err] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const terminal = { env: { PATH: "/usr/bin:/bin" }, input, out, err, json: options.json ?? false };
  const url = `ws://127.0.0.1:${gateway.port}/`;
  const offers = { allow: [], screenshot: false };
  const run = (more: Partial<NodeOptions> = {}): Promise<void> =>
    runNode(terminal, { folder, offers, signal: ending.signal, ...options, ...more });
  let heard = "";
  const stored = (): unknown => JSON.parse(readFileSync(join(folder, "device.json"), "utf8"));
  return {
    url,
    http: `http://127.0.0.1:${gateway.port}`,
    folder,
    run,
    end: () => ending.abort(),
    stored,
    said: () => (heard += String(out.read() ?? "")),
    count: () => (heard += String(out.read() ?? "")).split("Connected as").length - 1,
    told: () => String(err.read() ?? ""),
    keep: (value: object) => writeFileSync(join(folder, "device.json"), JSON.stringify(value)),
  };
}
/** Time that passes at once, but for what takes as long as these; `waits` are the others. */
function racingClock(stands: readonly number[]): Clock & { readonly waits: readonly number[] } {
  const waits: number[] = [];
  return {
    ...systemClock(),
    waits,
    after(afterMs, run) {
      if (stands.includes(afterMs)) return { cancel: () => undefined };
      waits.push(afterMs);
      const timer = setImmediate(run);
      return { cancel: () => clearImmediate(timer) };
    },
  };
}
/** A look that nothing asked for, and the longest wait for an answer. */
const [lookMs, answerMs] = [20_000, 30_000];
const idOf = (letter: string): string => letter.repeat(32);

test("it pairs by its code, takes what waits, runs each call once, and what it ran before a kill is told as it is", async () => {
  const [first, second] = [call("a", "tea"), call("b", "milk")];
  const waiting = [
    first,
    second,
    call("f", "runs elsewhere"),
    call("c", "was begun"),
    call("d", "was done"),
    call("e", "was told"),
  ];
  const { gateway, logins, results, onLook } = await stage([[], [first, first], [...waiting]]);
  const node = device(gateway);
  mkdirSync(join(node.folder, "calls"));
  const file = (letter: string): string => join(node.folder, "calls", `${idOf(letter)}.json`);
  writeFileSync(file("c"), JSON.stringify({ state: "began", pid: 1 << 22, started: "0" }));
  writeFileSync(file("d"), JSON.stringify({ state: "done", result: { ok: true, text: "kept" } }));
  const elsewhere = { state: "began", pid: process.ppid, started: startOf(process.ppid) };
  writeFileSync(file("f"), JSON.stringify(elsewhere));
  // No look comes by itself: it is the gateway's word that makes the device ask.
  const running = node.run({ url: node.url, code: "CODE", clock: racingClock([lookMs, answerMs]) });
  onLook(() => {
    if (!results.some((each) => (each as { id: string }).id === idOf("a"))) return;
    gateway.tell("device.call", {});
    onLook(() => undefined);
  });
  await expect.poll(() => results.length, { interval: 20 }).toBeGreaterThan(0);
  gateway.tell("device.call", {});
  await expect
    .poll(() => new Set(results.map((each) => (each as { id: string }).id)).size, { interval: 20 })
    .toBe(5);
  // The gateway has the last result before the device hears that it has.
  const kept = (): unknown[] =>
    ["a", "b", "c", "d", "e"].map((letter) => JSON.parse(readFileSync(file(letter), "utf8")) as unknown);
  await expect.poll(kept, { interval: 20 }).toEqual(Array.from({ length: 5 }, () => ({ state: "over" })));
  node.end();
  await running;
  const { token } = node.stored() as { readonly token: string };
  expect(logins).toEqual([{ code: "CODE", deviceToken: token }]);
  expect(node.stored()).toEqual({ url: node.http, token, code: "CODE" });
  const killed = expect.stringContaining("killed after it had begun") as string;
  const of = (letter: string): unknown =>
    results.find((each) => (each as { id: string }).id === idOf(letter));
  expect([of("c"), of("d")]).toEqual([
    { id: idOf("c"), ok: false, text: killed },
    { id: idOf("d"), ok: true, text: "kept" },
  ]);
  const shown = node.said();
  expect(shown).toMatch(/^Connected as laptop; granted: notify, run\.\ncall aaaaaaaa: notify\n/);
  expect(
    ["a", "b", "c", "d", "e"].map((letter) => shown.split(`call ${letter.repeat(8)}:`).length - 1),
  ).toEqual([1, 1, 0, 0, 1]);
  expect([of("f"), shown.includes("runs elsewhere")]).toEqual([undefined, false]);
  expect(JSON.parse(readFileSync(file("f"), "utf8"))).toEqual(elsewhere);
  expect([shown.split("🔔 tea").length, shown.split("🔔 milk").length]).toEqual([2, 2]);
});

test("it logs in by its token; where that is refused by its code, once; with neither it gives up", async () => {
  const { gateway, logins, onLook } = await stage([], {
    refuses: (auth) => ("token" in auth && auth.token === "old" ? "unknown" : undefined),
  });
  const known = device(gateway);
  known.keep({ url: known.http, token: "good" });
  onLook(known.end);
  await known.run();
  await known.run({ url: known.url });
  const refused = device(gateway);
  refused.keep({ url: refused.http, token: "old" });
  await expect(refused.run()).rejects.toThrow(`The gateway at ${refused.http} does not know this device`);
  onLook(refused.end);
  await refused.run({ code: "NEW" });
  const { token } = refused.stored() as { readonly token: string };
  expect(logins).toEqual([
    { token: "good" },
    { token: "old" },
    { token: "old" },
    { code: "NEW", deviceToken: token },
  ]);
  const shut = await stage([], { refuses: () => "no" });
  const unknown = device(shut.gateway);
  await expect(unknown.run({ url: unknown.url, code: "USED" })).rejects.toThrow("does not know this device");
  expect(shut.logins).toHaveLength(1);
});

test("it wants to know its gateway, and leaves one for another only by a code", async () => {
  const { gateway, logins, onLook } = await stage();
  const node = device(gateway);
  for (const given of [{}, { url: node.url }, { code: "C" }])
    await expect(node.run(given)).rejects.toThrow("This device is not paired yet");
  node.keep({ url: "http://other.example", token: "theirs" });
  await expect(node.run({ url: node.url })).rejects.toThrow(
    `This device is paired with http://other.example. Give --code to pair it with ${node.http} instead`,
  );
  onLook(node.end);
  await node.run({ url: `${node.url}//`, code: "C" });
  expect(logins).toMatchObject([{ code: "C" }]);
  expect(node.stored()).toMatchObject({ url: node.http });
});

test("a token made anew is stored at once and used at the next login; what broke the wire is told, and it comes back", async () => {
  const { gateway, logins, onLook } = await stage();
  const node = device(gateway);
  node.keep({ url: node.http, token: "good" });
  let looks = 0;
  onLook(() => {
    looks += 1;
    if (looks === 2) gateway.tell("device.rotate", { code: "ROTATED" });
    if (looks > 3) node.end();
  });
  const running = node.run();
  await expect.poll(() => node.stored(), { interval: 20 }).toMatchObject({ code: "ROTATED" });
  gateway.hangUp("the gateway restarts");
  await running;
  const { token } = node.stored() as { readonly token: string };
  expect(token).not.toBe("good");
  expect(logins).toEqual([{ token: "good" }, { code: "ROTATED", deviceToken: token }]);
  expect(node.told()).toContain("the gateway restarts. Trying again.\n");
  expect(node.said().match(/^Connected as laptop/gm)).toHaveLength(2);
});

test("a gateway that puts it out ends it; programs read what it does line by line", async () => {
  const gateway = await fakeGateway(() => {
    throw new Refusal("denied", "it was put out");
  });
  const node = device(gateway);
  node.keep({ url: node.http, token: "good" });
  await expect(node.run()).rejects.toThrow("it was put out");
  const { gateway: open, results, onLook } = await stage([[], [call("a", "tea")]]);
  const other = device(open, { json: true });
  other.keep({ url: other.http, token: "good" });
  onLook(() => results.length > 0 && other.end());
  const running = other.run();
  await expect.poll(() => results.length, { interval: 20 }).toBe(1);
  other.end();
  await running;
  expect(
    other
      .said()
      .trim()
      .split("\n")
      .map((each) => JSON.parse(each) as object),
  ).toEqual([
    { event: "connected", name: "laptop", grants: ["notify", "run"] },
    { event: "call", id: idOf("a"), command: "notify" },
    { event: "notify", title: "", text: "tea" },
  ]);
  expect(existsSync(join(other.folder, "calls", `${idOf("a")}.json`))).toBe(true);
});

test("a result that the gateway could not take is kept, and told when it asks again, without running twice", async () => {
  const offered = [call("a", "tea")];
  const { gateway, results } = await stage([[], ...Array.from({ length: 1_000 }, () => offered)], {
    lost: 1,
  });
  const node = device(gateway);
  node.keep({ url: node.http, token: "good" });
  const running = node.run({ clock: racingClock([lookMs, answerMs]) });
  const file = join(node.folder, "calls", `${idOf("a")}.json`);
  const state = (): unknown => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : null);
  const result = { ok: true, text: expect.any(String) as string };
  await expect.poll(state, { interval: 20 }).toEqual({ state: "done", result });
  await expect
    .poll(() => (gateway.tell("device.call", {}), results.length), { interval: 20 })
    .toBeGreaterThan(0);
  node.end();
  await running;
  expect(results[0]).toEqual({ id: idOf("a"), ...result });
  expect(node.said().split("🔔 tea")).toHaveLength(2);
});

test("what runs when it is told to stop ends with it, and is written down first", async () => {
  const run = { id: idOf("a"), forMs: 60_000, command: "run", argv: ["sleep", "60"] };
  const { gateway } = await stage([[], [run]]);
  const node = device(gateway, { offers: { allow: ["sleep *"], screenshot: false } });
  node.keep({ url: node.http, token: "good" });
  const running = node.run();
  const file = join(node.folder, "calls", `${idOf("a")}.json`);
  await expect.poll(() => existsSync(file), { interval: 20 }).toBe(true);
  await expect.poll(() => node.said(), { interval: 20 }).toContain("call aaaaaaaa: run");
  node.end();
  await running;
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ state: "done" });
});

test("where nothing answers it tries again later and later, up to half a minute; once it was let in, soon again", async () => {
  const { gateway } = await stage();
  const node = device(gateway);
  node.keep({ url: "http://127.0.0.1:1", token: "good" });
  const away = racingClock([]);
  const ending = new AbortController();
  const pauses = (): readonly number[] => away.waits.filter((ms) => ms % 500 === 0);
  const giving: Clock = {
    ...away,
    after(afterMs, run) {
      if (pauses().length === 7) ending.abort();
      return away.after(afterMs, run);
    },
  };
  await node.run({ clock: giving, signal: ending.signal });
  expect(pauses().slice(0, 8)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  const flaky = device(gateway);
  flaky.keep({ url: flaky.http, token: "good" });
  const near = racingClock([lookMs, answerMs]);
  const running = flaky.run({ clock: near });
  for (const times of [1, 2, 3]) {
    await expect.poll(() => flaky.count(), { interval: 20 }).toBe(times);
    gateway.hangUp("it restarts");
  }
  await expect.poll(() => flaky.count(), { interval: 20 }).toBe(4);
  flaky.end();
  await running;
  expect(near.waits.slice(0, 3)).toEqual([500, 500, 500]);
});

test("the command offers what its flags say, has its state where they say, and ends with 0 by either signal", async () => {
  const signals = ["SIGINT", "SIGTERM"] as const;
  const listening = (): readonly Function[][] => signals.map((signal) => process.listeners(signal));
  const before = listening();
  const run = async (signal: number, ...flags: readonly string[]) => {
    const { gateway } = await stage();
    const home = stateFolder(null, null);
    writeFileSync(join(home, "scrot"), "", { mode: 0o755 });
    const at = (path: string): string => path.replace("HOME", home);
    const argv = ["--url", `http://127.0.0.1:${gateway.port}`, "--code", "AB", ...flags.map(at)];
    // What the command alone hears of the signal: the program of the tests has its own.
    const end = (): void =>
      listening()
        [signal]?.filter((each) => before[signal]?.includes(each) === false)
        .forEach((each) => each());
    const onOut = (soFar: string): void => void (soFar.endsWith("\n") && end());
    const { exitCode, out, err } = await parley(home, ["node", "run", ...argv], {
      env: { PATH: home },
      onOut,
    });
    const asked = gateway.requests.find(({ method }) => method === "device.calls")?.params;
    const {
      host: _,
      platform: __,
      ...offers
    } = (asked as { readonly about: { [name: string]: unknown } }).about;
    const kept = ["device", "mine"].filter((name) => existsSync(join(home, name, "device.json")));
    return [exitCode, out, err, offers, kept];
  };
  const shown = "Connected as laptop; granted: notify, run.\n";
  const all = ["notify", "run", "file_read", "file_list", "file_write", "screenshot"];
  const flags = [
    "--allow",
    "git *",
    "--allow",
    "ls",
    "--folder",
    "HOME",
    "--screenshot",
    "--state",
    "HOME/mine",
  ];
  expect([await run(0), await run(1, ...flags)]).toEqual([
    [0, shown, "", { commands: ["notify"] }, ["device"]],
    [0, shown, "", { commands: all, allow: ["git *", "ls"] }, ["mine"]],
  ]);
  expect(listening()).toEqual(before);
});
