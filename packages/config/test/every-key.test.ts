// A file that says every key of the schema, each otherwise than by default, and the config that comes of it:
// no key is lost on the way, and none stands in another's place. A key that came since is taken up by
// `vitest run --project @parley/config every-key -u`.
import { expect, test } from "vitest";
import { changedKeys, configJsonSchema, restartKeys } from "../src/index.ts";
import { loadText } from "./load-text.ts";

interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: { readonly [key: string]: Schema };
  readonly additionalProperties?: Schema | boolean;
}

/** By the end of the path, the first that fits: what only a form of its own is taken for. */
const forms: readonly (readonly [RegExp, (n: number) => unknown])[] = [
  // Of two keys for one thing the one that tells more.
  [/(?:\.allow|\.security|\.type|servers\.k\.command|servers\.k\.args|servers\.k\.cwd)$/, () => undefined],
  [/servers\.k\.env$/, () => undefined],
  [/\.transport$/, () => "sse"],
  [/gateway\.bind$/, () => "127.0.0.2"],
  [/trustedProxies\[]$/, (n) => `10.0.${n % 250}.0/24`],
  [
    /(?:defaults|list\[])\.(?:model|imageModel|imageGenerationModel)\.(?:primary|fallbacks\[])$/,
    (n) => `openai/m${n}`,
  ],
  [/audio\.transcribe$/, (n) => `openai/speech${n}`],
  [/\.(?:thinkingDefault|thinking)$/, (n) => ["low", "high", "minimal"][n % 3]],
  [/\.(?:userTimezone|timezone)$/, (n) => ["Asia/Tokyo", "Europe/Paris", "America/Lima"][n % 3]],
  [/\.(?:every|ttl|sessionRetention|runLog\.retention)$/, (n) => `${(n % 50) + 1}m`],
  [/heartbeat\.target$/, (n) => `telegram:${n}`],
  [/\.(?:start|at)$/, (n) => `0${n % 10}:15`],
  [/\.end$/, (n) => `2${n % 4}:45`],
  [/exec\.allowlist\[]$/, (n) => ({ command: `c${n}`, argPattern: `a${n}` })],
  [/list\[]\.id$/, () => "agent"],
  [/\.agentId$/, () => "agent"],
  [/\.allowedAgentIds\[]$/, () => "agent"],
  [/webhookUrl$/, (n) => `https://hook${n}.example/x`],
  [
    /(?:publicUrl|apiRoot|[bB]aseUrl|cdpUrl|servers\.k\.url|endpoint|update\.url)$/,
    (n) => `https://u${n}.example`,
  ],
  [/telegram.*\.proxy$/, (n) => `http://proxy${n}:1`],
  [/\.dmPolicy$/, () => "allowlist"],
  [/(?:identityLinks\.k|approvers|ownerAllowFrom)\[]$/, (n) => `telegram:${n}`],
  [/(?:[aA]llowFrom|users|roles)\[]$/, (n) => String(n)],
  [/(?:peer\.id|guildId)$/, (n) => String(n)],
  [/match\.channel$/, () => "discord"],
  [/match\.accountId$/, () => "k"],
  [/store\.redis\.url$/, () => "redis://:pw@h:6379/0"],
  [/publicKey$/, () => "-----BEGIN PUBLIC KEY-----\nx"],
  [/sha256$/, () => "0f".repeat(32)],
  [/endpoints\.k\.deliver$/, () => "telegram:k:dm:1"],
  [/resetByType\.\w+\.mode$/, () => "daily"],
  [/configVersion$/, () => 1],
  [
    /(?:requireMention|suppressEmbeds|nativeSkills|list\[]\..*(?:lightContext|onSearch|mmr\.enabled))$/,
    () => false,
  ],
  [/inlineButtons$/, () => "group"],
  [/profile$/, () => "coding"],
];

/** The same for a path in every run, another for almost every other path. */
function numberOf(path: string): number {
  let sum = 7;
  for (const char of path) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) % 9_973;
  return sum + 1;
}

/** The key that stands in each map; where ids or models are the keys, one of those. */
function nameIn(path: string): string {
  if (/\.(?:groups|topics|guilds|channels)$/.test(path)) return "5";
  if (path.endsWith("agents.defaults.models")) return "openai/m";
  if (path.endsWith("toolsBySender")) return "telegram:5";
  return path.endsWith("resetByChannel") ? "telegram" : "k";
}

/** `turn`: which one of a list. */
function valueFor(schema: Schema, path: string, turn = 0): unknown {
  const form = forms.find(([end]) => end.test(path));
  const n = numberOf(path) + turn;
  if (form !== undefined) return form[1](n);
  if (schema.anyOf !== undefined) {
    const plain = schema.anyOf.filter(({ type }) => type !== "object");
    const block = schema.anyOf.filter(({ type }) => type === "object");
    // A secret is written out, a choice of a model is a block of two.
    const isSecret = block.some(({ properties = {} }) => "file" in properties);
    return valueFor((isSecret ? plain.at(-1) : (block.at(-1) ?? plain.at(-1))) ?? {}, path, turn);
  }
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum.findLast((each) => each !== schema.default);
  if (schema.type === "boolean") return schema.default !== true;
  if (schema.type === "integer" || schema.type === "number") {
    const { minimum = schema.exclusiveMinimum ?? 0, maximum = 1_000_000 } = schema;
    const step = schema.type === "integer" ? 1 : 1 / 16;
    const room = Math.min(1_000, Math.floor((maximum - minimum) / step));
    return minimum + (1 + (n % Math.max(room, 1))) * step;
  }
  if (schema.type === "array") {
    const item = schema.items ?? {};
    const one = valueFor(item, `${path}[]`);
    return item.type === "object" ? [one] : [one, valueFor(item, `${path}[]`, 1)];
  }
  if (schema.type !== "object") return `t${n}`.slice(0, schema.maxLength);
  const { properties = {}, additionalProperties: more } = schema;
  const named = Object.entries(properties).map(([key, each]) => [key, valueFor(each, `${path}.${key}`)]);
  const free = nameIn(path);
  if (typeof more === "object" && named.length === 0) named.push([free, valueFor(more, `${path}.${free}`)]);
  return Object.fromEntries(named);
}

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

test("whatever the file says is in the config, each at its own place", async () => {
  const file = valueFor(configJsonSchema() as Schema, "");
  const { config, warnings } = await loadText(JSON.stringify(file), { OPENAI_API_KEY: "k" });
  const told = warnings.map(({ path, message }) => `${path}: ${message}`);
  await expect([...leaves(config), ...told, ""].join("\n")).toMatchFileSnapshot("tables/every-key.txt");
  // Whatever the table says, every word has its place: but the schema's name, what this agent has of its own
  // in place of the defaults, and the key of a search that takes none.
  const words = new Set([...leaves(config), ...told].flatMap((leaf) => leaf.match(/\bt\d+\b/g) ?? []));
  const lost = leaves(file).flatMap((leaf) => {
    const [, path = "", word = ""] = /^(.*) = "(t\d+)"$/.exec(leaf) ?? [];
    return word === "" || words.has(word) ? [] : [path];
  });
  expect(lost).toEqual([
    ".$schema",
    ".agents.defaults.memorySearch.model",
    ".agents.defaults.memorySearch.remote.apiKey",
    ".agents.defaults.memorySearch.upkeep.model",
    ".tools.web.search.apiKey",
  ]);
  // What a running gateway cannot take up of all that.
  const changed = changedKeys((await loadText("{}")).config, config);
  expect(restartKeys(changed)).toMatchInlineSnapshot(`
    [
      "gateway.port",
      "gateway.bind",
      "gateway.auth.token",
      "gateway.allowedHosts",
      "gateway.trustedProxies",
      "gateway.metrics.enabled",
      "store.driver",
      "store.redis",
      "telemetry.traces",
      "logging.file.enabled",
      "logging.file.maxMegabytes",
      "logging.file.keep",
    ]
  `);
  expect(changed.length).toBeGreaterThan(200);
});
