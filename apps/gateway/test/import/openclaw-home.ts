// Writes an OpenClaw home after its documented layout: config, workspace, credentials, schedules and two
// conversations, with what Parley has otherwise or not at all.
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Of the config and of the files beside it; none of them may ever be printed. */
export const secrets = {
  bot: "777000:AAimported-bot-token-of-the-fixture",
  provider: "sk-imported-provider-key-0123456789",
  skill: "skill-secret-0123456789",
  profile: "sk-profile-key-9876543210",
};

export const alice = 4242;

export interface OpenclawHomeOptions {
  readonly telegram?: object;
  readonly providerUrl?: string;
  /** Of its gateway; 0 is taken by nobody. */
  readonly port?: number;
}

export async function openclawHome({
  telegram = {},
  providerUrl = "http://127.0.0.1:9/v1",
  port = 0,
}: OpenclawHomeOptions = {}): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "openclaw-"));
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(home, path)), { recursive: true });
    await writeFile(join(home, path), text);
  };
  const config = {
    meta: { lastTouchedVersion: "2026.2.1" },
    gateway: { port, mode: "local" },
    env: { vars: { WEATHER_PLACE: "Berlin" } },
    agents: {
      defaults: {
        workspace: join(home, "workspace"),
        model: { primary: "fake/m1" },
        typingMode: "instant",
        flyingCars: true,
      },
    },
    models: {
      providers: {
        fake: {
          api: "openai-completions",
          baseUrl: providerUrl,
          apiKey: secrets.provider,
          models: [{ id: "m1", name: "Model" }],
        },
      },
    },
    channels: {
      telegram: {
        botToken: secrets.bot,
        dmPolicy: "pairing",
        streamMode: "off",
        linkPreview: false,
        groups: { "*": { requireMention: true } },
        ...telegram,
      },
      whatsapp: { dmPolicy: "pairing" },
    },
    skills: { entries: { weather: { env: { WEATHER_API_KEY: secrets.skill } } } },
  };
  await write("openclaw.json", `// The fixture's config.\n${JSON.stringify(config, null, 2)}\n`);
  await write("workspace/AGENTS.md", "# Rules\n\nAnswer briefly.\n");
  await write("workspace/SOUL.md", "You are Molty.\n");
  await write("workspace/memory/2026-01-02.md", "Alice likes tea.\n");
  await write(
    "skills/weather/SKILL.md",
    "---\nname: weather\ndescription: Tells the weather\n---\nLook out of the window.\n",
  );
  await write(
    "credentials/telegram-allowFrom.json",
    JSON.stringify({ version: 1, allowFrom: [String(alice)] }),
  );
  await write("credentials/telegram-pairing.json", JSON.stringify({ version: 1, requests: [] }));
  await write(
    "agents/main/agent/auth-profiles.json",
    JSON.stringify({
      version: 1,
      profiles: {
        "anthropic:default": { type: "api_key", provider: "anthropic", key: secrets.profile },
        "openai:me": { type: "oauth", provider: "openai" },
      },
    }),
  );
  await write(
    "cron/jobs.json",
    JSON.stringify({
      version: 1,
      jobs: [
        {
          id: "0B6F-tea",
          agentId: "main",
          name: "Tea",
          enabled: true,
          schedule: { kind: "cron", expr: "0 9 * * 1-5", tz: "Europe/Berlin" },
          sessionTarget: "isolated",
          wakeMode: "now",
          payload: { kind: "agentTurn", message: "Remind me of tea" },
          delivery: { mode: "announce", channel: "telegram", to: String(alice) },
          state: {},
        },
        {
          id: "long-ago",
          name: "Past",
          enabled: true,
          schedule: { kind: "at", at: "2020-01-01T09:00:00Z" },
          sessionTarget: "main",
          payload: { kind: "systemEvent", text: "past" },
        },
        {
          id: "elsewhere",
          name: "Elsewhere",
          schedule: { kind: "every", everyMs: 3_600_000 },
          sessionTarget: "isolated",
          payload: { kind: "agentTurn", message: "x" },
          delivery: { mode: "announce", channel: "whatsapp", to: "+491" },
        },
      ],
    }),
  );
  await write(
    "agents/main/sessions/sessions.json",
    JSON.stringify({
      "agent:main:main": {
        sessionId: "s-main",
        updatedAt: 1_767_000_000_000,
        deliveryContext: { channel: "telegram", to: `telegram:${alice}` },
      },
      "agent:main:telegram:group:-100200": { sessionId: "s-group", updatedAt: 1_767_000_000_000 },
      "agent:main:cron:0B6F-tea": { sessionId: "s-cron", updatedAt: 1_767_000_000_000 },
    }),
  );
  const message = (id: string, parentId: string | null, body: object): string =>
    JSON.stringify({ type: "message", id, parentId, timestamp: "2026-01-02T10:00:00.000Z", message: body });
  await write(
    "agents/main/sessions/s-main.jsonl",
    [
      JSON.stringify({
        type: "session",
        version: 3,
        id: "s-main",
        timestamp: "2026-01-02T10:00:00.000Z",
        cwd: home,
      }),
      message("a", null, { role: "user", content: [{ type: "text", text: "My cat is called Zimt." }] }),
      message("b", "a", {
        role: "assistant",
        provider: "fake",
        model: "m1",
        content: [
          { type: "thinking", thinking: "a cat", thinkingSignature: "x" },
          { type: "toolCall", id: "c1", name: "read", arguments: { path: "cats.md" } },
        ],
      }),
      message("c", "b", {
        role: "toolResult",
        toolCallId: "c1",
        toolName: "read",
        isError: false,
        content: [{ type: "text", text: "no cats yet" }],
      }),
      message("x", "c", {
        role: "assistant",
        provider: "fake",
        model: "m1",
        content: [{ type: "text", text: "a branch that was left" }],
      }),
      message("d", "c", {
        role: "assistant",
        provider: "fake",
        model: "m1",
        content: [{ type: "text", text: "I will remember Zimt." }],
      }),
      '{"type":"message","id":"torn',
    ].join("\n"),
  );
  await write(
    "agents/main/sessions/s-group.jsonl",
    `${message("g", null, { role: "user", content: "hello group" })}\n`,
  );
  return home;
}
