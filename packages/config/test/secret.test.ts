import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { configJsonSchema, redact, secret, secretValues } from "../src/index.ts";
import { redactFile } from "../src/redact.ts";
import { isSecretPath } from "../src/references.ts";
import { home, loadText, problemsOf } from "./load-text.ts";

test("a secret shows itself to nobody who does not ask for it", () => {
  const token = secret("hunter2");
  expect(
    String(token) + JSON.stringify({ token }) + inspect({ token }, { depth: 9, showHidden: true }),
  ).not.toContain("hunter2");
  expect(token.reveal()).toBe("hunter2");
});

describe("references", () => {
  test("a secret may come from the environment, a file, or text with variables", async () => {
    const text = `{
      gateway: { auth: { token: { file: "token" } } },
      models: { providers: { openai: { apiKey: { env: "KEY" } } } },
      channels: { telegram: { botToken: "\${ID}:\${KEY}" } },
    }`;
    const { config } = await loadText(text, { KEY: "k", ID: "7" }, { [`${home}/token`]: "from-file\n" });
    expect(config.gateway.auth.token?.reveal()).toBe("from-file");
    expect(config.models.providers["openai"]?.apiKey?.reveal()).toBe("k");
    expect(config.channels.telegram["default"]?.botToken.reveal()).toBe("7:k");
  });

  test("$${NAME} stands for the characters themselves", async () => {
    const { config } = await loadText('{ agents: { defaults: { workspace: "/a/$${X}" } } }');
    expect(config.agents.defaults.workspace).toBe("/a/${X}");
  });

  test.for([
    ['{ gateway: { auth: { token: { env: "NOPE" } } } }', /NOPE is not set/],
    ['{ gateway: { auth: { token: "${EMPTY}" } } }', /EMPTY is empty/],
    ['{ gateway: { auth: { token: { file: "gone" } } } }', /\/state\/gone does not exist/],
  ] as const)("%s is one problem at its line", async ([text, message]) => {
    const problems = await problemsOf(text, { EMPTY: "" });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ path: "gateway.auth.token", line: 1 });
    expect(problems[0]?.message).toMatch(message);
  });

  test("an object where no secret belongs is not read as one", async () => {
    expect(
      (await problemsOf('{ logging: { level: { env: "LEVEL" } } }', { LEVEL: "info" })).map(
        ({ path }) => path,
      ),
    ).toEqual(["logging.level"]);
  });
});

test("redact masks every secret and passwords in URLs, and secretValues lists them for the log", async () => {
  const { config } = await loadText(
    `{ gateway: { auth: { token: "s-token" } }, models: { providers: { p: { api: "ollama", baseUrl: "http://me:s-url@h/v1", apiKey: "s-key" } } },
       channels: { telegram: { botToken: "s-bot", webhookUrl: "https://a.example/x", webhookSecret: "s-hook" }, discord: { token: "s-disc" } } }`,
  );
  const shown = JSON.stringify(redact(config));
  expect(shown).not.toMatch(/s-(token|url|key|bot|hook|disc)/);
  expect(shown).toContain("http://me:[secret]@h/v1");
  expect(secretValues(config).toSorted()).toEqual(["s-bot", "s-disc", "s-hook", "s-key", "s-token"]);
});

test("the address of a Redis may come from elsewhere, and is never shown", async () => {
  const { config } = await loadText(
    '{ store: { driver: "redis", redis: { url: { env: "REDIS_URL" }, tls: { caFile: "ca.pem" } } } }',
    {
      REDIS_URL: "rediss://:s-pass@h:6380",
    },
  );
  expect(config.store.redis?.url.reveal()).toBe("rediss://:s-pass@h:6380");
  expect(config.store.redis).toMatchObject({
    keyPrefix: "parley",
    acceptDataLoss: false,
    tls: { caFile: "/state/ca.pem" },
  });
  expect(JSON.stringify(redact(config))).not.toContain("s-pass");
});

test("no problem repeats what stands where a secret belongs", async () => {
  const problems = await problemsOf(
    "{ gateway: { auth: { token: 987654321 } }, channels: { telegram: { botToken: ['987654321'] } } }",
  );
  expect(problems).toHaveLength(2);
  expect(JSON.stringify(problems)).not.toContain("987654321");
});

test("a secret at a place for something else is not repeated, nor is one of a variable or of a file", async () => {
  const bot = "123456789:AAHbotCANARYbotCANARYbotCANARYbotCANARY";
  const problems = await problemsOf(
    `{
      gateway: { port: "\${MODEL_API_KEY}", bind: "${bot}" },
      channels: { telegram: "${bot}", discord: { allowFrom: ["sk-proj-listCANARYlistCANARY1234"] } },
      models: { providers: { openai: { "sk-proj-keyCANARYkeyCANARY1234": 1 } } },
      logging: { level: "postgres://me:urlCANARY@host/db" },
      agents: { defaults: { userTimezone: "\${ZONE}" } },
    }`,
    { MODEL_API_KEY: 'env"CANARY-that-is-longer-than-the-forty-characters-shown', ZONE: "Europe/Berlinn" },
  );
  const told = problems.map(({ path, message, fix = "" }) => `${path}: ${message}. ${fix}`).join("\n");
  expect(told).not.toContain("CANARY");
  expect(told).toContain('gateway.port: "${MODEL_API_KEY}');
  expect(told).toContain('logging.level: "postgres://me:[secret]@host/db"');
  // What is no secret helps whoever looks for the mistake.
  expect(told).toContain("Europe/Berlinn");
  expect(problems).toHaveLength(7);
});

test("a variable that is not set is told by the way in which it was named", async () => {
  const [inText, byName, nameless] = await Promise.all(
    ['"${BOT}"', '{ env: "BOT" }', '{ env: "" }'].map((token) =>
      problemsOf(`{ channels: { telegram: { botToken: ${token} } } }`),
    ),
  );
  expect(inText?.map(({ fix }) => fix)).toEqual([
    'Set BOT, or write "$${BOT}" for these characters themselves',
  ]);
  expect(byName?.map(({ message, fix }) => [message, fix])).toEqual([
    ["the environment variable BOT is not set", "Set BOT"],
  ]);
  expect(nameless?.map(({ message, fix }) => [message, fix])).toEqual([
    ["the variable has no name", 'Write it as { env: "NAME" }'],
  ]);
});

test("a key from the environment is not sent to an address from the file", async () => {
  const { config } = await loadText(
    '{ models: { providers: { openai: { baseUrl: "http://other.example/v1" } } } }',
    {
      OPENAI_API_KEY: "k",
    },
  );
  expect(config.models.providers["openai"]?.apiKey).toBeUndefined();
});

interface Schema {
  readonly anyOf?: readonly Schema[];
  readonly properties?: { readonly [key: string]: Schema };
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
}

/** The places that the schema takes a secret at: the text itself, or where it is. */
function secretPlaces(schema: Schema, path: readonly string[] = []): readonly (readonly string[])[] {
  const { anyOf = [], properties = {}, additionalProperties: more, items } = schema;
  return [
    ...(anyOf.some((form) => "file" in (form.properties ?? {})) ? [path] : []),
    ...anyOf.flatMap((form) => secretPlaces(form, path)),
    ...Object.entries(properties).flatMap(([key, each]) => secretPlaces(each, [...path, key])),
    ...(typeof more === "object" ? secretPlaces(more, [...path, "NAME"]) : []),
    ...(items === undefined ? [] : secretPlaces(items, [...path, "0"])),
  ];
}

test("whatever the schema calls a secret may come from elsewhere, and is masked in what the file says", () => {
  const places = secretPlaces(configJsonSchema());
  expect(places.length).toBeGreaterThan(30);
  for (const place of places) {
    expect([place.join("."), isSecretPath(place)]).toEqual([place.join("."), true]);
    const file = place.reduceRight<object | string>((below, key) => ({ [key]: below }), "hunter2");
    expect(JSON.stringify(redactFile(file as never)), place.join(".")).not.toContain("hunter2");
  }
});

test("a passphrase, a proxy and a header of traces may stand in the environment, and no problem repeats them", async () => {
  const { config } = await loadText(
    `{ backup: { passphrase: { env: "A" } }, channels: { telegram: { botToken: "1:t", proxy: { env: "B" } } },
       telemetry: { traces: { endpoint: "http://c.example", headers: { Key: { file: "f" } } } } }`,
    { A: "words", B: "http://n:pw@p:1" },
    { [`${home}/f`]: "of-file" },
  );
  const { backup, channels, telemetry } = config;
  expect([
    backup.passphrase?.reveal(),
    channels.telegram["default"]?.proxy?.reveal(),
    telemetry.traces?.headers["Key"]?.reveal(),
  ]).toEqual(["words", "http://n:pw@p:1", "of-file"]);
  const problems = await problemsOf(
    String.raw`{ backup: { passphrase: 987654321 }, mcp: { servers: { x: { url: "https://a", oauth: { clientSecret: "987654321\n" } } } } }`,
  );
  expect(problems).toHaveLength(2);
  expect(JSON.stringify(problems)).not.toContain("987654321");
});
