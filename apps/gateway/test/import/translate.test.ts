// Whole tables of how an OpenClaw config is written in Parley's names, key by key, and how it is fitted into
// a config that is there. After a wanted change: `vitest run --project @parley/gateway import/translate -u`.
import type { Json, JsonObject } from "@parley/protocol";
import { answerTable, laterAnswerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import { fitted } from "../../src/import/fit.ts";
import { renamed } from "../../src/import/older-homes.ts";
import type { Source } from "../../src/import/source.ts";
import { translate } from "../../src/import/translate.ts";
import { at, leaves, without, withValue, type Path } from "../../src/import/tree.ts";

interface Told {
  readonly env?: Source["env"];
  readonly isHome?: boolean;
  readonly was?: Source["was"];
}

const translated = (config: JsonObject, { env = {}, isHome = false, was = new Map() }: Told = {}) =>
  translate({ config, env, isHome, was } as Source);
const telegram = (account: JsonObject): JsonObject => ({ channels: { telegram: account } });
const discord = (account: JsonObject): JsonObject => ({ channels: { discord: account } });

test("each key of a config has its name here, or a reason", async () => {
  const configs: readonly (readonly [JsonObject, Told?])[] = [
    [{ meta: { a: 1, b: [1] }, wizard: {}, $schema: "x", ui: { x: 1 } }],
    // Variables: flat, in a block of their own, and what is none.
    [{ env: { A: "1", vars: { B: "2" } } }],
    [{ env: { A: "1", vars: { B: "2", C: 3 } } }],
    [{ env: { shellEnv: { enabled: true }, vars: {} } }],
    [{ env: { vars: "words" } }],
    [
      { env: { A: "1" } },
      { env: { A: "0", OPENCLAW_HOME: "/x", CLAWDBOT_A: "y", B_OPENCLAW_: "z", C: "3" } },
    ],
    [{ messages: { queue: { debounce: 5 } } }],
    [{ messages: { queue: { debounce: 5, debounceMs: 6 } } }],
    // Agents: by id or in a list, and which one is the default.
    [
      {
        agents: { entries: { main: { name: "M", default: true }, two: { workspace: "/w", agentDir: "/d" } } },
      },
    ],
    [
      {
        agents: {
          defaults: { workspace: "/w", model: "m" },
          list: [
            { id: "two", default: true },
            { id: "x", default: false },
          ],
        },
        channels: { telegram: {}, discord: {}, slack: { botToken: "x", a: [{ b: 1 }] }, web: { on: true } },
        bindings: [{ agentId: "x", match: { channel: "telegram" } }],
      },
    ],
    [{ agents: { list: [{ id: "two", default: true }] }, bindings: "none" }],
    [{ agents: { list: [{ id: "main", default: true }, { id: 5, default: true }, { id: "y" }] } }],
    // Sessions.
    [{}, { isHome: true }],
    [{ session: { dmScope: "per-peer" } }, { isHome: true }],
    [{ session: { scope: "per-sender" } }],
    [{ session: { scope: "global", idleMinutes: 60 } }],
    [{ session: { scope: "other", idleMinutes: "60" } }],
    [{ session: { scope: "toString", idleMinutes: 60, reset: { mode: "daily" } } }],
    [{ session: { resetByType: { dm: { mode: "idle" }, group: { mode: "daily" } } } }],
    [{ gateway: { auth: { mode: "token", token: "hunter2" } } }],
    [{ gateway: { auth: { mode: "password", password: "${PASS}" } } }],
    // Channels and their accounts.
    [telegram({ token: "t:1", accounts: { work: { token: "t:2", dm: { policy: "open" } } } })],
    [telegram({ token: "t:1", botToken: "t:2" })],
    [telegram({ tokenFile: "/run/token" })],
    [discord({ botToken: "d", tokenFile: 5, dm: { policy: "pairing", allowFrom: ["1"], enabled: true } })],
    [discord({ dm: { enabled: false, groupEnabled: true } })],
    [discord({ dm: { enabled: false }, dmPolicy: "open" })],
    [discord({ guilds: { "1": { channels: { a: { allow: true }, b: { allow: false, enabled: true } } } } })],
    ...["off", "block", "partial", "progress", true, false, "edit", 5].flatMap((mode) => [
      [telegram({ streaming: mode })] as const,
      [discord({ streamMode: mode })] as const,
    ]),
    [telegram({ streaming: { mode: "partial", chunk: 5 }, streamMode: "off" })],
    [telegram({ replyToMode: "all", accounts: { a: { replyToMode: "off" } } })],
    // Secrets.
    [telegram({ botToken: { source: "env", provider: "default", id: "TOKEN" } })],
    [telegram({ botToken: { source: "exec", id: "pass show" } })],
    [
      telegram({
        botToken: { env: "TOKEN" },
        accounts: { a: { botToken: { file: "x" } }, b: { botToken: {} } },
      }),
    ],
    [
      telegram({
        accounts: { "a.b": { botToken: "t:1" }, "a-b": { botToken: "t:2" }, "a:b": { botToken: "t:1" } },
      }),
    ],
    [telegram({ botToken: "${TOKEN}", accounts: { a: { botToken: "" }, b: { botToken: "x${1}" } } })],
    [
      {
        skills: {
          entries: {
            "my-skill": { env: { API_KEY: "k1", PLACE: "here", A_TOKEN: "${X}", N: 5 } },
            two: { env: { API_KEY: "k2" } },
          },
        },
      },
      { env: { API_KEY: "k1" } },
    ],
    [{ talk: { apiKey: "k" } }, { was: new Map([["talk.apiKey", "voice.apiKey"]]) }],
  ];
  const table = answerTable(configs, ([config, told]) => {
    const { file, changed, met, secrets, variables } = translated(config, told);
    return {
      file,
      changed: [...changed].map(
        ([name, { from, why }]) => `${name}${from === name ? "" : ` was ${from}`}: ${why}`,
      ),
      met: met.map(
        ({ what, name, fate, to, why }) =>
          `${what} ${name}: ${fate}${to === undefined ? "" : ` to ${to}`}${why === undefined ? "" : `, ${why}`}`,
      ),
      secrets,
      variables,
    };
  });
  await expect(table).toMatchFileSnapshot("../tables/import-keys.txt");
});

test("the keys of older homes have today's names, and what is named both ways keeps the newer", async () => {
  const homes: readonly JsonObject[] = [
    { telegram: { a: 1 }, whatsapp: { b: [1] }, web: { c: 1 } },
    { telegram: { a: 1 }, channels: { telegram: { a: 2 }, signal: {} } },
    { agent: { model: "m", workspace: "/w" }, agents: { defaults: { model: "n" } } },
    { agent: {}, routing: {}, session: {} },
    { agent: "words" },
    { routing: { allowFrom: ["1"], bindings: [{ agentId: "a" }], queue: { mode: "collect" } } },
    { routing: { groupChat: { historyLimit: 5 }, agentToAgent: { enabled: true }, other: 1 } },
    { routing: { bindings: [1] }, bindings: [2] },
    { routing: { agents: { a: { name: "A" }, b: {} }, defaultAgentId: "a" } },
    { routing: { agents: { a: {} }, defaultAgentId: "gone" } },
    { routing: { agents: { a: { default: false } }, defaultAgentId: "a" } },
    { identity: { name: "Clawd" } },
    { identity: { name: "Clawd" }, agents: { list: [] } },
    { identity: { name: "Clawd" }, agents: { entries: { a: {} } } },
    { identity: { name: "Clawd" }, routing: { agents: { a: {} } } },
  ];
  const table = answerTable(homes, (home) => {
    const { config, was } = renamed(home);
    return { config, was: [...was].map(([now, before]) => `${now} was ${before}`) };
  });
  await expect(table).toMatchFileSnapshot("../tables/import-older.txt");
});

test("what a person wrote stays, what is missing is added, and what is wrong is left out with its reason", async () => {
  const pairs: readonly (readonly [before: string, wanted: JsonObject])[] = [
    ["", {}],
    ["", { messages: { queue: { mode: "collect", cap: 5 } } }],
    ["{ messages: { queue: { cap: 7 } } } // mine\n", { messages: { queue: { mode: "collect", cap: 5 } } }],
    ["{ messages: { queue: { cap: 5 } } }", { messages: { queue: { cap: 5 } } }],
    ["", { messages: { queue: { mode: "none", cap: 0, colour: 1 } }, nonsense: { a: [{ b: 1 }] } }],
    ["", telegram({ botToken: { env: "NOT_SET" }, dmPolicy: "everyone" })],
    [
      "{ channels: { telegram: { botToken: { env: 'MINE' } } } }",
      telegram({ botToken: { file: "secrets/x" } }),
    ],
    [
      "{ channels: { telegram: { botToken: { file: 'mine' } } } }",
      telegram({ botToken: { env: "MINE", file: "x" } }),
    ],
    [
      "",
      {
        bindings: [
          { agentId: "main", match: { channel: "telegram" } },
          { agentId: "gone", match: {} },
          { agentId: "main", match: { channel: "discord" } },
        ],
      },
    ],
    ["{ bindings: [] }", { bindings: [{ agentId: "main", match: { channel: "telegram" } }] }],
    [
      "",
      {
        agents: {
          list: [
            { id: "main", tools: { deny: ["exec"], colour: 1 } },
            { id: "two", sandbox: { mode: "x" } },
          ],
        },
      },
    ],
    ["{ nonsense", {}],
    ["{ nonsense: 1 }", { messages: { queue: { cap: 5 } } }],
  ];
  const table = await laterAnswerTable(pairs, async ([before, wanted]) => {
    const { text, met, unset } = await fitted({
      translated: translated(wanted),
      env: { MINE: "1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" },
      home: "/home",
      configPath: "/home/parley.json5",
      before,
      placeholder: () => "2:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
    });
    return {
      text,
      met: met.map(
        ({ name, fate, to, why }) =>
          `${name}: ${fate}${to === undefined ? "" : ` to ${to}`}${why === undefined ? "" : `, ${why}`}`,
      ),
      unset,
    };
  });
  await expect(table).toMatchFileSnapshot("../tables/import-fit.txt");
});

test("a tree is read and changed at a place, and the one before stays what it was", () => {
  const tree: Json = { a: { b: [{ c: 1 }, 2], "": null }, e: {} };
  const copy = structuredClone(tree);
  const places: readonly Path[] = [
    [],
    ["a", "b", 0, "c"],
    ["a", "b", "0"],
    ["a", 0],
    ["a", "b", 2],
    ["e", "toString"],
  ];
  expect(places.map((place) => at(tree, place) ?? null)).toEqual([tree, 1, null, null, null, null]);
  expect(withValue(tree, ["a", "b", 1], 3)).toEqual({ a: { b: [{ c: 1 }, 3], "": null }, e: {} });
  expect(withValue(tree, ["a", "b", 2], 3)).toEqual(tree);
  expect(withValue(tree, ["e", "f", "g"], 3)).toEqual({ ...tree, e: { f: { g: 3 } } });
  expect(withValue(5, ["f"], 3)).toEqual({ f: 3 });
  expect(without(tree, ["a", "b", 0])).toEqual({ a: { b: [2], "": null }, e: {} });
  expect(without(tree, ["a", "b", 0, "c"])).toEqual({ a: { b: [{}, 2], "": null }, e: {} });
  expect([without(tree, ["x", "y"]), without(tree, []), without(5, ["x"])]).toEqual([tree, tree, 5]);
  expect(leaves(tree).map(({ path }) => path.join("/"))).toEqual(["a/b/0/c", "a/b/1", "a/", "e"]);
  expect(leaves([1, 2])).toEqual([{ path: [], value: [1, 2] }]);
  expect(tree).toEqual(copy);
});
