// Every method of the table has its handler, and each group of them goes by the config of the moment: a
// change is in force with the next call, also for methods that were made before it.
import { loadConfig, type Config } from "@parley/config";
import { methods } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { handlers } from "../../src/operator/table.ts";

/** Stands for whatever part of the gateway: it has everything, may be called, and says nothing. */
function anything(): never {
  const part: never = new Proxy((): void => {}, {
    get: (_target, key) => (key === "then" ? undefined : key === Symbol.iterator ? [].values : anything()),
    apply: () => anything(),
  }) as never;
  return part;
}

const configOf = async (file: object): Promise<Config> =>
  (await loadConfig({ env: {}, home: "/nowhere", readFile: async () => JSON.stringify(file) })).config;

test("every method has one handler, and each goes by the config of the moment", async () => {
  const before = await configOf({ cron: { enabled: false } });
  const after = await configOf({
    agents: {
      list: [
        { id: "main", workspace: "/w" },
        { id: "other", workspace: "/o" },
      ],
    },
    cron: { enabled: true, timezone: "Asia/Tokyo" },
    gateway: { publicUrl: "https://after.example/" },
    backup: { keep: 3, folder: "/backups-of-after" },
  });
  let now = before;
  const known = {
    configNow: () => now,
    home: "/nowhere",
    clock: virtualClock(),
    database: { backup: () => {}, restore: () => {} },
    controlUrl: () => "http://127.0.0.1:1/",
    skills: {
      survey: async () => ({ roots: [], skills: [], shelf: { shadowed: [], rejected: [], cut: [] } }),
    },
    memory: {
      status: async () => ({ problems: [], notes: [] }),
      search: async () => ({ hits: [], notes: [] }),
    },
    talk: { upToDate: async () => [] },
    store: {
      cells: { get: async () => null, list: async () => [] },
      sessions: { list: async () => [], transcript: async () => [] },
      inbox: { find: async () => [] },
      turns: { list: async () => [] },
      outbox: {},
    },
    schedules: { jobs: { list: async () => ({ jobs: [], unreadable: [] }) }, zone: "UTC" },
    work: { slotsNow: () => ({}) },
    wired: { web: { account: "default" }, channels: new Map() },
    forgetting: { forget: async () => ({ lines: [], history: 0, notes: [] }) },
  };
  const all = handlers(
    new Proxy(known, {
      get: (own, key) => (Reflect.has(own, key) ? (Reflect.get(own, key) as never) : anything()),
      ownKeys: (own) => Reflect.ownKeys(own),
    }) as never,
  ) as unknown as { readonly [method: string]: (params: object, caller: object) => Promise<unknown> };
  expect(Object.keys(all).toSorted()).toEqual(Object.keys(methods).toSorted());
  expect(Object.values(all).every((handler) => typeof handler === "function")).toBe(true);

  const caller = { peer: "web-1", scopes: ["admin"] };
  const told = async (method: string, params: object = {}): Promise<string> =>
    (all[method]?.(params, caller) ?? Promise.reject(new Error("none"))).then(
      (value) => JSON.stringify(value),
      ({ message }: Error) => message,
    );
  const asks: readonly (readonly [method: string, params: object, before: RegExp, after: RegExp])[] = [
    ["agents.list", {}, /^(?!.*"other")/, /"id":"other"/],
    ["skills.list", { agent: "other" }, /there is no agent "other"/, /^\{"agent":"other"/],
    ["memory.status", {}, /^(?!.*"other")/, /"agent":"other"/],
    ["memory.search", { agent: "other", query: "x" }, /there is no agent "other"/, /^\{"agent":"other"/],
    ["memory.forget", { agent: "other", query: "x" }, /there is no agent "other"/, /^\{"agent":"other"/],
    ["cron.explain", { schedule: { expr: "0 9 * * *" }, count: 1 }, /^(?!.*Tokyo)/, /Asia\/Tokyo/],
    ["cron.status", {}, /"enabled":false/, /"enabled":true/],
    ["backups.list", {}, /^(?!.*after)/, /"folder":"\/backups-of-after"/],
  ];
  const table = async () =>
    Promise.all(asks.map(async ([method, params]) => [method, await told(method, params)] as const));
  const first = await table();
  now = after;
  const second = await table();
  for (const [nth, [method, , was, is]] of asks.entries())
    expect([method, first[nth]?.[1], second[nth]?.[1]]).toEqual([
      method,
      expect.stringMatching(was),
      expect.stringMatching(is),
    ]);
});
