// What a reload changes in the running daemon: the next turn's path, the log, and the accounts whose
// connection is another one, each in its order; a config that cannot be used changes nothing.
import type { Channel } from "@parley/channels";
import { secret, type Config } from "@parley/config";
import { Fault } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { takeUp, type TakeUpOptions } from "../../src/reload/take-up.ts";
import { saidLog } from "./said-log.ts";

const configWith = (tokens: { readonly [account: string]: string }, more: object = {}): Config =>
  ({
    channels: {
      telegram: Object.fromEntries(
        Object.entries(tokens).map(([account, token]) => [account, { botToken: secret(token) }]),
      ),
      discord: {},
      web: { enabled: true },
    },
    logging: { level: "info" },
    ...more,
  }) as never;

function stage(first: Config, more: Partial<TakeUpOptions> = {}, led: readonly string[] = []) {
  const did: string[] = [];
  const { log, said } = saidLog();
  const clock = virtualClock();
  const channel = (account: string, of: string): Channel => ({ account, of }) as never;
  const channels = new Map<string, Channel>(
    Object.keys(first.channels.telegram).map((account) => [`telegram:${account}`, channel(account, "first")]),
  );
  channels.set("web:default", channel("default", "first"));
  const apply = takeUp({
    wired: {
      channels,
      async renew(account: string, config: Config) {
        did.push(`renew ${account}`);
        const [, name = ""] = account.split(":");
        const isThere = config.channels.telegram[name] !== undefined;
        const fresh = isThere ? channel(name, "renewed") : null;
        if (fresh === null) channels.delete(account);
        else channels.set(account, fresh);
        return fresh;
      },
    } as never,
    workNotifier: {
      serve: (account: string) => (
        did.push(`serve ${account}`),
        () => void did.push(`serve ${account} no more`)
      ),
    },
    pools: () => ({ serve: (accounts: readonly string[]) => void did.push(`pools ${accounts.join(" ")}`) }),
    isLed: (account) => led.includes(account),
    changeLed: async (account) => void did.push(`led ${account}`),
    build: async () => ({ path: { keepOwnJobs: async () => void did.push("keep jobs") } }) as never,
    use: () => void did.push("use"),
    start: async ({ account }) => void did.push(`start ${account}`),
    stop: async ({ account }) => void did.push(`stop ${account}`),
    hide: (value) => void did.push(`hide ${value}`),
    setLevel: (level) => void did.push(`level ${level}`),
    clock,
    log,
    ...more,
  });
  return { did, said, clock, apply };
}

test("secrets are hidden first, the path is in force before accounts change, and removed accounts end before others begin", async () => {
  const before = configWith({ gone: "1:a", stays: "2:b", other: "3:c" });
  // Its token goes to another account, which must not be polled twice.
  const after = configWith({ stays: "2:b", other: "4:d", fresh: "1:a" }, { logging: { level: "debug" } });
  const s = stage(before);
  const { changed, ...told } = await s.apply(before, after);
  expect(told).toEqual({
    restarted: ["telegram:gone", "telegram:other", "telegram:fresh"],
    restartNeeded: [],
  });
  expect(changed).toEqual(expect.arrayContaining(["logging.level", "channels.telegram.gone"]));
  const hidden = s.did.filter((each) => each.startsWith("hide"));
  expect(hidden.toSorted()).toEqual(["hide 1:a", "hide 2:b", "hide 4:d"]);
  const rest = s.did.slice(hidden.length);
  expect(rest.slice(0, 2)).toEqual(["level debug", "use"]);
  expect(rest.slice(2, 5)).toEqual([
    "stop gone",
    "renew telegram:gone",
    "pools telegram:stays telegram:other web:default",
  ]);
  // Those that stay or come are renewed beside each other.
  const of = (account: string): readonly string[] =>
    rest
      .slice(5)
      .filter(
        (each) => !each.startsWith("pools") && (each.endsWith(`:${account}`) || each.endsWith(` ${account}`)),
      );
  expect([of("other"), of("fresh")]).toEqual([
    ["stop other", "renew telegram:other", "serve telegram:other", "start other"],
    ["renew telegram:fresh", "serve telegram:fresh", "start fresh"],
  ]);
  expect(rest.at(-1)).toBe("keep jobs");
  expect(s.said).toEqual([
    ["info", "an account changed with the config", { account: "telegram:gone", gone: true }],
    ["info", "an account came with the config", { account: "telegram:fresh", gone: false }],
    ["info", "an account changed with the config", { account: "telegram:other", gone: false }],
  ]);
});

test("an account is served once however often it changes, no more once it is gone, and again when it comes back", async () => {
  const [none, one, two] = [configWith({}), configWith({ a: "1:a" }), configWith({ a: "1:b" })];
  const s = stage(none);
  const served = async (before: Config, after: Config): Promise<readonly string[]> => {
    s.did.length = 0;
    await s.apply(before, after);
    return s.did.filter((each) => each.startsWith("serve"));
  };
  expect(await served(none, one)).toEqual(["serve telegram:a"]);
  expect(await served(one, two)).toEqual([]);
  expect(await served(two, none)).toEqual(["serve telegram:a no more"]);
  expect(await served(none, one)).toEqual(["serve telegram:a"]);
});

test("nothing is restarted where no connection changed; what a restart alone takes up is told", async () => {
  const before = configWith({ a: "1:a" }, { gateway: { port: 1, bind: "x" }, store: { driver: "sqlite" } });
  const after = configWith({ a: "1:a" }, { gateway: { port: 2, bind: "x" }, store: { driver: "redis" } });
  const s = stage(before);
  expect(await s.apply(before, after)).toEqual({
    changed: ["gateway.port", "store.driver"],
    restarted: [],
    restartNeeded: ["gateway.port", "store.driver"],
  });
  expect(s.did).toEqual(["hide 1:a", "level info", "use", "keep jobs"]);
});

test("a led account is the cluster's to change, and is in no pool of this process", async () => {
  const [before, after] = [configWith({ a: "1:a" }), configWith({ a: "1:b", b: "2:b" })];
  const s = stage(before, {}, ["telegram:a"]);
  await s.apply(before, after);
  expect(s.did.slice(4)).toEqual([
    "led telegram:a",
    "renew telegram:b",
    "serve telegram:b",
    "pools web:default telegram:b",
    "start b",
    "keep jobs",
  ]);
});

test("a channel that hangs at its end is waited for ten seconds, and one that fails then is renewed all the same", async () => {
  const [before, after] = [configWith({ a: "1:a" }), configWith({ a: "1:b" })];
  const hanging = stage(before, { stop: () => new Promise(() => {}) });
  const done = hanging.apply(before, after);
  await hanging.clock.advance(9_999);
  expect(hanging.did).not.toContain("renew telegram:a");
  await hanging.clock.advance(1);
  await done;
  expect(hanging.did).toContain("start a");
  const failing = stage(before, { stop: () => Promise.reject(new Error("no")) });
  await failing.apply(before, after);
  expect(failing.did).toContain("start a");
});

test("a config that no path can be built of is refused before anything but the secrets changed", async () => {
  const [before, after] = [configWith({ a: "1:a" }), configWith({ a: "1:b" })];
  const s = stage(before, { build: () => Promise.reject(new Fault("invalid", "no workspace")) });
  await expect(s.apply(before, after)).rejects.toThrow("no workspace");
  expect(s.did).toEqual(["hide 1:b"]);
});
