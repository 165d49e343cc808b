// Whole tables of what is read beside the config: schedules with their places, transcripts, keys of
// providers. After a wanted change: `vitest run --project @parley/gateway import/readings -u`.
import type { Json, JsonObject } from "@parley/protocol";
import { answerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import { placeOf, readJobs } from "../../src/import/jobs.ts";
import { withKeys } from "../../src/import/keys.ts";
import type { Source } from "../../src/import/source.ts";
import { readTranscript } from "../../src/import/transcript.ts";
import { translate } from "../../src/import/translate.ts";

const home = (files: { readonly [path: string]: Json }, more: object = {}): Source =>
  ({
    folder: "/claw",
    isHome: true,
    config: {},
    env: {},
    was: new Map(),
    files: {
      value: (path: string) => files[path.slice("/claw/".length)],
      names: (path: string) => [
        ...new Set(
          Object.keys(files)
            .filter((each) => each.startsWith(`${path.slice("/claw/".length)}/`))
            .map((each) => each.slice(path.length - "/claw".length).split("/")[0]),
        ),
      ],
    },
    databases: { hasTable: () => false },
    ...more,
  }) as unknown as Source;

test("places as OpenClaw names them, and none that could be somebody else's", async () => {
  const places: readonly (readonly [Json | undefined, string])[] = [
    ["telegram", "123"],
    ["telegram", "-100123"],
    ["telegram", "-100123:7"],
    ["telegram", "group:-100123:topic:7"],
    ["telegram", "@name"],
    ["telegram", "telegram:123"],
    ["discord", "telegram:-5"],
    [undefined, "TG:123"],
    [undefined, "123"],
    ["last", "123"],
    ["discord", "user:5"],
    ["Discord", "CHANNEL:6"],
    [undefined, "discord:channel:6"],
    ["discord", "6"],
    ["telegram", "user:5"],
    ["slack", "user:5"],
    [5, "123"],
    ["telegram", ""],
    ["telegram", "12x"],
  ];
  await expect(answerTable(places, ([named, to]) => placeOf(named, to, "work"))).toMatchFileSnapshot(
    "../tables/import-places.txt",
  );
});

test("a schedule keeps its id, its time and its place, or says why it is left", async () => {
  const daily = { kind: "cron", expr: "0 9 * * *", tz: "Europe/Berlin" };
  const turn = { kind: "agentTurn", message: "brief me" };
  const note = { kind: "systemEvent", text: "tea" };
  const base = {
    id: "j",
    name: "Brief",
    enabled: true,
    schedule: daily,
    sessionTarget: "isolated",
    payload: turn,
  };
  const lists: readonly Json[] = [
    [base],
    { jobs: [{ ...base, id: "A b/Ü" }, { ...base, id: "a-b" }, { ...base, id: "!" }, 5] },
    [{ ...base, id: "x".repeat(70) }],
    [{ ...base, id: null, jobId: "k", enabled: false, deleteAfterRun: true, wakeMode: "now" }],
    [
      { ...base, agentId: "TWO" },
      { ...base, id: "k", agentId: "gone" },
    ],
    [{ ...base, schedule: { kind: "every", everyMs: 3_600_000 } }],
    [{ ...base, schedule: { kind: "at", at: "2027-01-01T00:00:00Z" } }],
    [{ ...base, schedule: { kind: "at", atMs: 1 } }],
    [{ ...base, schedule: { kind: "cron", expr: "nonsense" } }],
    [{ ...base, sessionTarget: "main", payload: note }],
    [{ ...base, sessionTarget: "main", payload: turn }],
    [
      {
        ...base,
        payload: {
          ...turn,
          model: "m",
          thinking: "low",
          timeoutSeconds: 60,
          toolsAllow: ["read"],
          lightContext: true,
          x: 1,
        },
      },
    ],
    [{ ...base, sessionTarget: "current", payload: { ...turn, model: "a/m" } }],
    [{ ...base, payload: { kind: "shell", command: "rm" } }],
    [{ ...base, payload: { ...turn, deliver: true, channel: "telegram", to: "123" } }],
    [{ ...base, payload: { ...turn, deliver: false, to: "123", channel: "telegram" } }],
    [{ ...base, payload: { ...turn, to: "@name", channel: "telegram" } }],
    [
      {
        ...base,
        delivery: { mode: "announce", channel: "telegram", to: -5, accountId: "work", bestEffort: true },
      },
    ],
    [{ ...base, delivery: { mode: "announce", channel: "last" } }],
    [{ ...base, delivery: { mode: "none" }, payload: { ...turn, deliver: true, to: "5" } }],
    [{ ...base, delivery: { mode: "webhook", to: "https://hook.example.com/x" } }],
    [{ ...base, delivery: { mode: "webhook" } }],
    [{ ...base, delivery: { mode: "fax" } }],
  ];
  const place = { channel: "telegram", account: "default", kind: "dm", peer: "7" } as const;
  const table = answerTable(lists, (list) =>
    readJobs(home({ "cron/jobs.json": list }), {
      nowMs: Date.UTC(2026, 10, 24),
      zone: "UTC",
      agents: ["main", "two"],
      home: (agent) => (agent === "main" ? { place, session: "agent:main:main" } : null),
    }),
  );
  await expect(table).toMatchFileSnapshot("../tables/import-jobs.txt");
});

test("a transcript is its last branch after the last /new, in whole pairs, and says what is left", async () => {
  const at = (id: string, parentId: string | null, more: object): string =>
    JSON.stringify({ id, parentId, ...more });
  const message = (
    id: string,
    parentId: string | null,
    role: string,
    content: Json,
    more: object = {},
  ): string =>
    at(id, parentId, {
      type: "message",
      timestamp: "2026-01-01T00:00:00Z",
      message: { role, content, ...more },
    });
  const call = (id: string, more: object = {}): JsonObject => ({
    type: "toolCall",
    id,
    name: "read",
    ...more,
  });
  const transcripts: readonly (readonly string[])[] = [
    [],
    [at("s", null, { type: "session", version: 3 })],
    [
      message("1", null, "user", "a"),
      message("2", "1", "assistant", "b", { provider: "p", model: "m", timestamp: 5 }),
    ],
    // The second answer to "1" is the branch; the first one is another try.
    [
      message("1", null, "user", "a"),
      message("2", "1", "assistant", "b"),
      message("3", "1", "assistant", "c"),
    ],
    [
      JSON.stringify({ role: "user", content: "no ids" }),
      JSON.stringify({ role: "assistant", content: [{ type: "text", text: "b" }] }),
    ],
    [message("1", null, "user", "a"), at("2", "1", { type: "reset" }), message("3", "2", "user", "b")],
    [
      at("1", null, { type: "reset" }),
      message("2", "1", "user", "b"),
      at("3", "2", { type: "reset" }),
      message("4", "3", "user", "c"),
    ],
    [at("1", null, { type: "reset" }), message("2", "1", "user", "b")],
    [message("1", null, "user", "a"), message("2", "1", "user", "b"), at("3", "2", { type: "reset" })],
    [message("1", null, "user", "a"), "{torn", message("3", "2", "user", "b")],
    [message("1", "9", "user", "a"), message("2", "1", "user", "b"), message("3", "3", "user", "c")],
    [
      message("1", null, "user", [
        { type: "text", text: "see" },
        { type: "image", data: "x" },
      ]),
      message("2", "1", "assistant", [
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "" },
        call("c 1", { arguments: { path: "a" } }),
        call("c2"),
      ]),
      message("3", "2", "toolResult", [{ type: "text", text: "it" }, { type: "image" }], {
        toolCallId: "c 1",
        isError: true,
      }),
      message("4", "3", "toolResult", "again", { toolCallId: "c 1" }),
      message("5", "4", "toolResult", "of nobody", { toolCallId: "c9" }),
      message("6", "5", "assistant", [{ type: "thinking", thinking: "hm" }]),
      message("7", "6", "system", "not said"),
    ],
    [
      message("1", null, "user", "a"),
      message("2", "1", "user", "b"),
      at("3", "2", { type: "compaction", summary: "sum", firstKeptEntryId: "2", timestamp: 7 }),
      at("4", "3", { type: "compaction", summary: "sum 2", firstKeptEntryId: "gone" }),
      at("5", "4", { type: "compaction" }),
      at("6", "5", { type: "custom_message", content: "noted", timestamp: "no time" }),
    ],
    Array.from({ length: 7 }, () => "{"),
    // Words in several parts, arguments by their older name, and ids of calls that another provider may
    // refuse.
    [
      message("1", null, "user", [
        { type: "text", text: "one" },
        { type: "text", text: "two" },
      ]),
      message("2", "1", "assistant", [
        call("x".repeat(64), { args: { path: "older" } }),
        call("y".repeat(65), { arguments: "words" }),
        { type: "toolCall", id: "nameless" },
      ]),
      ...["x".repeat(64), "y".repeat(65), "nameless"].map((toolCallId, index) =>
        message(`${index + 3}`, `${index + 2}`, "toolResult", "done", { toolCallId }),
      ),
    ],
  ];
  const table = answerTable(transcripts, (lines) => readTranscript(lines.join("\n"), "s.jsonl"));
  await expect(table).toMatchFileSnapshot("../tables/import-transcripts.txt");
});

test("keys of providers are carried once each, into files of their own, and logins are not", () => {
  const key = (provider: string, value: string): JsonObject => ({ type: "api_key", provider, key: value });
  const source = home(
    {
      "agents/main/agent/auth-profiles.json": {
        profiles: {
          "openai:default": key("openai", "sk-1"),
          "openai:work": key("openai", "sk-2"),
          "a.b": key("a.b", "k-dot"),
          "a/b": key("a/b", "k-slash"),
          login: { type: "oauth", provider: "google", access: "x" },
          empty: key("groq", ""),
          odd: "words",
        },
      },
      "agents/two/agent/auth-profiles.json": { profiles: { mine: key("mistral", "m-1") } },
      "agent/auth-profiles.json": { profiles: { old: key("xai", "x-1"), there: key("zai", "z-1") } },
    },
    { config: { models: { providers: { zai: { apiKey: { env: "ZAI" } } } } } },
  );
  const { file, secrets, met, changed } = withKeys(source, translate(source));
  const { providers } = (
    file as unknown as {
      readonly models: { readonly providers: { readonly [name: string]: { readonly apiKey: Json } } };
    }
  ).models;
  expect(Object.entries(providers).map(([name, { apiKey }]) => [name, apiKey])).toEqual([
    ["zai", { env: "ZAI" }],
    ["openai", { file: "secrets/models-providers-openai-apiKey" }],
    ["a.b", { file: "secrets/models-providers-a-b-apiKey" }],
    ["a/b", { file: "secrets/models-providers-a-b-apiKey-2" }],
    ["mistral", { file: "secrets/models-providers-mistral-apiKey" }],
    ["xai", { file: "secrets/models-providers-xai-apiKey" }],
  ]);
  expect([...secrets.values()]).toEqual(["sk-1", "k-dot", "k-slash", "m-1", "x-1"]);
  expect(met.map(({ name, fate, why }) => [name, fate, why])).toEqual([
    ["auth-profiles main: openai:work", "refused", "models.providers.openai has a key already"],
    ...["login", "empty", "odd"].map((name) => [
      `auth-profiles main: ${name}`,
      "refused",
      "only API keys are carried: give this provider a key, parley setup",
    ]),
    ["auth-profiles main: there", "refused", "models.providers.zai has a key already"],
  ]);
  expect([...changed].find(([, { from }]) => from.endsWith("a.b"))?.[0]).toBe(
    'models.providers["a.b"].apiKey.file',
  );
  expect(withKeys({ ...source, isHome: false }, translate(source)).secrets.size).toBe(0);
});
