// Whole configs as the daemon gets them from short files: every default and everything that is handed down.
// And what is changed by a patch, what is masked, how places are written. After a wanted change:
// `vitest run --project @parley/config tables -u`.
import { existsSync, readFileSync } from "node:fs";
import type { JsonObject } from "@parley/protocol";
import { answerTable, laterAnswerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import {
  configSchemaAt,
  editConfig,
  isLoopbackBind,
  listenAddress,
  parseConfigPath,
  tokenWeakness,
} from "../src/index.ts";
import { changesTo } from "../src/file/merge.ts";
import { formatPath } from "../src/problem.ts";
import { redactFile } from "../src/redact.ts";
import { isSecretPath } from "../src/references.ts";
import { mask } from "../src/secret.ts";
import { loadText } from "./load-text.ts";

/** Each leaf of it, by its place; secrets as what they are. */
function leaves(value: unknown, path = ""): readonly string[] {
  if (typeof value === "object" && value !== null) {
    if ("reveal" in value && typeof value.reveal === "function")
      return [`${path} = secret ${value.reveal()}`];
    const entries = Object.entries(value);
    if (entries.length > 0) return entries.flatMap(([key, each]) => leaves(each, `${path}.${key}`));
  }
  return value === undefined ? [] : [`${path} = ${JSON.stringify(value)}`];
}

const agents = `agents: {
  defaults: { workspace: "/w", model: { primary: "openai/b", fallbacks: ["anthropic/d"] }, maxConcurrent: 3,
    memorySearch: { provider: "voyage", query: { maxResults: 7, hybrid: { mmr: { lambda: 0.2 } } },
      remote: { baseUrl: "https://all.example" }, chunking: { tokens: 300 } } },
  list: [
    { id: "main" },
    { id: "own", workspace: "/own", model: "openai/f", memorySearch: { provider: "openai", query: { maxResults: 9,
      hybrid: { vectorWeight: 0.9, temporalDecay: { enabled: true } } }, chunking: { tokens: 200, overlap: 150 } } },
    { id: "same", memorySearch: { provider: "voyage", model: "v", remote: { apiKey: "k-same" } } },
    { id: "plain", memorySearch: { provider: "none", sources: ["memory"] } },
    { id: "words", memorySearch: { query: { hybrid: { enabled: false } } } },
  ] }`;

/**
 * The keys of a table: a key that came since breaks no test, and is taken up where the table is made anew.
 */
function keysIn(table: string): (leaf: string) => boolean {
  const path = new URL(table, import.meta.url);
  const text = existsSync(path) ? readFileSync(path, "utf8") : null;
  return (leaf) => text === null || text.includes(`${leaf.split(" = ")[0]} = `);
}

test("the whole config that short files mean", async () => {
  const empty = leaves((await loadText("{}")).config);
  const defaults = empty.filter(keysIn("tables/defaults.txt"));
  await expect(`${defaults.join("\n")}\n`).toMatchFileSnapshot("tables/defaults.txt");
  const env = { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" };
  const texts = [
    '{ channels: { telegram: { botToken: "t", allowFrom: ["1"], groups: { "-5": { requireMention: false, topics: { "7": { enabled: false } } } }, accounts: { work: { botToken: "u", allowFrom: ["2"] } } } } }',
    '{ channels: { discord: { token: "t", dmPolicy: "disabled", guilds: { "5": { channels: { "6": { requireMention: false } } } }, accounts: { work: { token: "u", groupPolicy: "open" } } } } }',
    `{ ${agents} }`,
    `{ ${agents}, models: { providers: { voyage: { baseUrl: "https://v.example/", apiKey: "k-voyage" }, openai: { apiKey: "k-openai" } } } }`,
    '{ agents: { defaults: { memorySearch: { provider: "ollama", remote: { baseUrl: "http://o:1/api/" } } } } }',
    '{ tools: { web: { search: { provider: "brave", apiKey: "k" } } } }',
    '{ tools: { web: { search: { provider: "searxng", searxng: { baseUrl: "https://s.example" } } } } }',
    '{ tools: { profile: "minimal", deny: ["exec"], exec: { mode: "full", ask: "always" } } }',
    '{ session: { reset: { mode: "idle", idleMinutes: 5 }, resetByType: { group: { mode: "daily", atHour: 4 } } } }',
    '{ gateway: { port: 1, bind: "lan", auth: { token: "a-long-enough-token-123456" } }, logging: { level: "debug" } }',
    '{ store: { driver: "redis", redis: { url: "redis://:pw@h/1" } } }',
  ];
  const voyage = await loadText(texts[2] ?? "", { ...env, VOYAGE_API_KEY: "k-env" });
  const isKnown = keysIn("tables/configs.txt");
  const more = (found: readonly string[]): readonly string[] =>
    found.filter((each) => !empty.includes(each) && isKnown(each));
  const table = await laterAnswerTable(texts, async (text) =>
    more(leaves((await loadText(text, env)).config)),
  );
  await expect(
    `${table}\n${more(leaves(voyage.config)).join("\n")}\n`.replaceAll('","', '",\n    "'),
  ).toMatchFileSnapshot("tables/configs.txt");
});

test("places in a config, as text and as keys, and which hold a secret", async () => {
  const texts = [
    "a",
    "a.b.a.b",
    "a[0].b[12]",
    'a["x.y"].b',
    '"x.y".b',
    'a."b"',
    'a["\\"q\\""]',
    "a..b",
    "a.",
    ".a",
    "a[",
    "a[x]",
    "a[-1]",
    "",
    "[0]",
  ];
  const paths = [["a", 0, "b"], ["a.b"], ["a", "x y", "0"], ["a", 'q"'], [], ["a", "b-c", "ä"]];
  const places = [
    "gateway.auth.token",
    "gateway.auth.tokens",
    "channels.telegram.botToken",
    "channels.telegram.webhookSecret",
    "models.providers.x.apiKey",
    "models.providers.x.headers.Any",
    "models.providers.x.headers",
    "models.headers",
    "mcp.servers.x.env.NAME",
    "mcp.servers.x.headers.NAME",
    "mcp.servers.x.args.NAME",
    "mcp.servers.x.env.NAME.deep",
    "other.servers.x.env.NAME",
    "store.redis.url",
    "store.url",
    "hooks.endpoints.x.secret",
    "commands.ownerDisplaySecret",
    "token.name",
  ];
  const table = [
    answerTable(texts, parseConfigPath),
    answerTable(paths, (path) => [formatPath(path), parseConfigPath(formatPath(path) || "a")]),
    answerTable(places, (place) => isSecretPath(parseConfigPath(place))),
  ];
  await expect(table.join("\n")).toMatchFileSnapshot("tables/places.txt");
});

const current = {
  gateway: { port: 1, auth: { token: "hidden" } },
  channels: { telegram: { botToken: { env: "TOKEN" }, allowFrom: ["1", "2", "3"] } },
  models: { providers: { x: { headers: { A: "h1", B: "h2" }, apiKey: { file: "k" } } } },
  store: { redis: { url: "redis://:pw@h" } },
  mcp: { servers: { s: { command: "c", args: ["--key", "v"], env: { K: "e1", L: "e2" } } } },
};

test("what a patch or a whole config changes, what it may not, and what is masked", async () => {
  const masked = redactFile(current) as JsonObject;
  const patches: readonly JsonObject[] = [
    {},
    { gateway: { port: 1 } },
    { gateway: { port: 2, bind: "lan" } },
    { gateway: null, none: null },
    { gateway: { auth: { token: null } } },
    { gateway: 7 },
    { channels: { telegram: { allowFrom: ["1", "2", "3", "4"] } } },
    { channels: { telegram: { allowFrom: ["3", "1"] } } },
    { channels: { telegram: { allowFrom: "1" } } },
    { channels: { telegram: { botToken: { file: "t" } } } },
    { channels: { telegram: { botToken: { env: "TOKEN" } } } },
    { models: { providers: { y: { a: null, b: { c: null, d: 1 } } } } },
    { store: { redis: { url: "redis://:pw@other" } } },
    masked,
    { models: { providers: { x: { headers: { C: mask } } } } },
    { gateway: { auth: { password: mask } } },
    { other: [{ a: mask }] },
  ];
  const named = { as: "patch", replacePaths: ["channels.telegram.allowFrom"] } as const;
  const edits = [
    [{ set: ["gateway", "port"], to: 5 }],
    [{ remove: ["channels", "telegram", "allowFrom", 0] }],
    [{ remove: ["channels", "telegram", "allowFrom", 2] }],
    [{ set: ["channels", "telegram", "allowFrom", 3], to: "9" }],
    [{ set: ["a", "b", "c"], to: { d: [1] } }],
    [{ remove: ["gateway"] }, { remove: ["models"] }, { set: ["z"], to: null }],
    [{ remove: ["none", "there"] }],
    [{ set: ["channels", "telegram", "allowFrom", 5], to: "9" }],
    [{ set: ["gateway", "port", "deep"], to: 1 }],
  ];
  const table = [
    `${JSON.stringify(masked, null, 2)}\n`,
    answerTable(patches, (patch) => changesTo(current, patch, { as: "patch" })),
    answerTable(patches.slice(7, 9), (patch) => changesTo(current, patch, named)),
    answerTable([...patches.slice(0, 6), masked], (whole) => changesTo(current, whole, { as: "whole" })),
    answerTable([null, [1], 7], (wrong) => changesTo(wrong, { a: 1 }, { as: "whole" })),
    answerTable(edits, (edit) => editConfig(JSON.stringify(current, null, 1), edit)),
  ];
  await expect(table.join("\n")).toMatchFileSnapshot("tables/changes.txt");
});

test("where the gateway listens for each bind, and which of them stay on this machine", () => {
  const binds = ["loopback", "lan", "0.0.0.0", "127.0.0.1", "::1", "localhost", "192.168.0.7"];
  expect(binds.map((bind) => [bind, listenAddress(bind), isLoopbackBind(bind)])).toMatchInlineSnapshot(`
    [
      [
        "loopback",
        "127.0.0.1",
        true,
      ],
      [
        "lan",
        "0.0.0.0",
        false,
      ],
      [
        "0.0.0.0",
        "0.0.0.0",
        false,
      ],
      [
        "127.0.0.1",
        "127.0.0.1",
        true,
      ],
      [
        "::1",
        "::1",
        true,
      ],
      [
        "localhost",
        "localhost",
        false,
      ],
      [
        "192.168.0.7",
        "192.168.0.7",
        false,
      ],
    ]
  `);
});

test("a key goes to the place that it is for: VOYAGE_API_KEY to Voyage alone, the key of an address not to another", async () => {
  const of = async (defaults: object, own: object = {}, providers: object = {}) => {
    const agents = {
      defaults: { memorySearch: { provider: "voyage", ...defaults } },
      list: [{ id: "a", memorySearch: own }],
    };
    const { config } = await loadText(JSON.stringify({ agents, models: { providers } }), {
      VOYAGE_API_KEY: "k-env",
    });
    const embedder = config.agents.list[0]?.memorySearch.embedder;
    return [embedder?.baseUrl, embedder?.apiKey === null ? null : embedder?.apiKey.reveal()];
  };
  expect(await of({})).toEqual(["https://api.voyageai.com/v1", "k-env"]);
  expect(await of({ remote: { baseUrl: "https://api.voyageai.com/v2" } })).toEqual([
    "https://api.voyageai.com/v2",
    "k-env",
  ]);
  for (const baseUrl of [
    "https://proxy.example",
    "http://api.voyageai.com/v1",
    "https://api.voyageai.com.example/v1",
  ]) {
    expect(await of({ remote: { baseUrl } })).toEqual([baseUrl, null]);
    expect(await of({}, {}, { voyage: { api: "openai-completions", baseUrl } })).toEqual([baseUrl, null]);
    expect(await of({ remote: { baseUrl, apiKey: "k-own" } })).toEqual([baseUrl, "k-own"]);
    expect(await of({ remote: { apiKey: "k-voyage" } }, { remote: { baseUrl } })).toEqual([baseUrl, null]);
  }
});

test("a change is written as its file is: in its indentation, with its quotes and line ends, where commas and comments stand", async () => {
  const files = [
    "",
    "{}",
    "{\na: 1,\nb: [1],\n}\n",
    "{\n\ta: {\n\t\tx: 1\n\t}\n}",
    '{\n    "a": {"x": 1, "y": 2},\n    "b": [\n        1 // one\n    ]\n}',
    "{ a: { x: 1 }, b: [1, 2] }",
    "{\r\n  a: {\r\n    x: 1,\r\n  },\r\n}\r\n",
    "{\n  // nothing yet\n}\n",
    "{\n  a: {\n    // nothing yet\n  }, /* b */\n  b: [] // empty\n}",
  ];
  const edits = [
    [{ set: ["a", "z"], to: { k: [1, "two"], "not-plain": null } }],
    [{ set: ["b", 1], to: { k: true } }],
    [{ set: ["c"], to: [] }],
    [
      { set: ["true"], to: {} },
      { set: ["$k_1"], to: 'q"' },
    ],
    [{ remove: ["a", "x"] }],
    [{ remove: ["b", 0] }],
    [{ remove: ["a"] }, { set: ["a"], to: 2 }],
  ] as const;
  const cases = files.flatMap((text) => edits.map((edit) => [text, edit] as const));
  await expect(answerTable(cases, ([text, edit]) => editConfig(text, edit))).toMatchFileSnapshot(
    "tables/edits.txt",
  );
});

test("a list of plain values stays on its line up to a hundred characters, and a block never", () => {
  const of = (chars: number) => editConfig("{\n}\n", [{ set: ["l"], to: ["x".repeat(chars - 4)] }]);
  expect(of(100)).toBe(`{\n  l: ["${"x".repeat(96)}"],\n}\n`);
  expect(of(101)).toBe(`{\n  l: [\n    "${"x".repeat(97)}",\n  ],\n}\n`);
});

test("of what the file says all that may be a secret is masked, at its place and below it, and no more", async () => {
  const values = {
    gateway: { auth: { token: "t", Password: "p" }, port: 1, token: { deep: ["a", 7, null, true] } },
    tokens: "t",
    apiKeys: "t",
    my_api_key: "k",
    api_key: 12,
    secretive: "s",
    channels: { telegram: { botToken: { env: "T" }, webhookSecret: "${HOOK}", proxy: "http://u:p@h:1" } },
    models: { providers: { x: { apiKey: { file: "f" }, headers: { A: "h" }, baseUrl: "https://u:p@h/x" } } },
    skills: { entries: { x: { env: { A: "v", B: 7 }, config: { A: "v", token: "t" } } } },
    hooks: {
      internal: { entries: { x: { env: { A: "v" }, note: "n" } } },
      endpoints: { x: { secret: "s" } },
    },
    mcp: {
      servers: {
        x: { env: { A: "v" }, headers: { B: "v" }, args: ["--key", "v"], oauth: { clientSecret: "s" } },
      },
    },
    store: { redis: { url: "redis://:pw@h", keyPrefix: "p" } },
    other: { env: { A: "v" }, url: "redis://:pw@h", token: { env: 7 }, list: [{ passwd: "p" }] },
    backup: { passphrase: "p" },
  };
  await expect(`${JSON.stringify(redactFile(values), null, 1)}\n`).toMatchFileSnapshot("tables/masks.txt");
});

test("why a token can be guessed, at each bound", async () => {
  const tokens = [
    "k3x9q7v2m5z8w4t",
    "k3x9q7v2m5z8w4t6",
    "parley-k3x9q7v2m5z8w4t",
    "parley-k3x9q7v2m5z8w4t6",
    "Your_Token-k3x9q7v2m5z8w4t6",
    "passphrasek3x9q7v2m5z8w4",
    "abcdeabcdeabcdeacbde",
    "k3x9qk9x3q3kx9qkq93x",
    "k3x9q7k9x37q3kx97qkq93x7",
    "aceg0246aceg0246",
    "kabcdmefghzijkqt",
    "kqxzvkxqzvqkxvzkqvxz",
    "kqxzvtkxqtzvqktxvzkq",
    "091827364554637281",
    "0918273645546372819",
    "kabcdmefghnijklp",
    "0918273645546372",
    "09182736455463728190",
    "kqxzvmtwkpqzxvmtkwp",
    "KQXZVMTWKPQZXVMT",
    "k3X9k3X9k3X9k3X9k3",
    "k3X9q7V2m5Z8w4T6k3X9q7V2m5Z8w4T6",
    "k3X9q7V2m5Z8w4Tk3X9q7V2m5Z8w4T",
    "p4ssw0rdp4ssw0rd1",
    "!!!!????....,,,,;;;;",
    "qwertzuiopasdfghjkl1",
  ];
  await expect(answerTable(tokens, tokenWeakness)).toMatchFileSnapshot("tables/weak-tokens.txt");
});

test("what may stand at a place of the config is told with what lies below it by name", async () => {
  const places = [
    "messages.groupChat",
    "gateway",
    "gateway.auth",
    "gateway.auth.token",
    "gateway.trustedProxies",
    "gateway.trustedProxies[3]",
    "agents.list",
    "agents.list[0].heartbeat.activeHours",
    "agents.defaults.model",
    "models.providers.any.models[0].cost",
    "models.providers",
    "store.redis",
    "none",
    "gateway.constructor",
    "gateway[0]",
    " ",
  ];
  await expect(answerTable(places, configSchemaAt)).toMatchFileSnapshot("tables/schema-at.txt");
});
