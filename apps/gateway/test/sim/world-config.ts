// The configuration that simulations run under: four channels, one owner, short limits. Loaded as a file
// would be, so that every default is the product's own.
import { loadConfig, type Config } from "@parley/config";
import type { Plan } from "./plan.ts";

const file = `{
  models: {},
  agents: { defaults: { model: { primary: "rehearsal/rehearsal" }, maxConcurrent: 2, timeoutSeconds: 100, userTimezone: "UTC" } },
  channels: {
    telegram: { botToken: "1:simulated", dmPolicy: "allowlist", allowFrom: ["1"], groupPolicy: "open" },
    discord: { token: "simulated", dmPolicy: "allowlist", allowFrom: ["1"], groupPolicy: "open" },
    web: { enabled: true },
  },
}`;

const { config: loaded } = await loadConfig({
  env: { PARLEY_HOME: "/nowhere" },
  readFile: async (path) => (path.endsWith(".json5") ? file : null),
});

export function simulatedConfig(plan: Plan): Config {
  const { channels, session, messages } = loaded;
  const [telegram] = Object.values(channels.telegram);
  if (telegram === undefined) throw new Error("the simulation's config has no Telegram account");
  const [discord] = Object.values(channels.discord);
  if (discord === undefined) throw new Error("the simulation's config has no Discord account");
  const account = { ...telegram, streaming: plan.streaming, pacing: "on" } as const;
  return {
    ...loaded,
    // Names in place of Telegram's numbers, so that a printed schedule can be read.
    commands: { ...loaded.commands, ownerAllowFrom: ["telegram:olga"] },
    channels: {
      ...channels,
      telegram: { default: { ...account, allowFrom: ["olga", "petra", "stan"] } },
      discord: {
        default: { ...discord, streaming: plan.streaming, pacing: "on", allowFrom: ["dora", "nils"] },
      },
    },
    session: { ...session, dmScope: plan.scope },
    messages: { ...messages, queue: { ...messages.queue, mode: plan.queue } },
  };
}
