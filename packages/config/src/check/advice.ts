// Warns, at the start and in `parley config validate`, of settings that are valid and yet do not do what
// their author may expect. An advice refuses nothing.
import { defaultAccount } from "../accounts.ts";
import type { Config, ProviderConfig } from "../config.ts";
import type { ConfigPath } from "../problem.ts";
import { telegramDefaults } from "../schema/channels.ts";
import type { Secret } from "../secret.ts";
import { finding, type Finding } from "../validate/validate.ts";
import { tokenWeakness } from "./weak-token.ts";

export function advice(config: Config): readonly Finding[] {
  const { models, commands, approvals, hooks, channels } = config;
  return [
    ...Object.entries(models.providers).flatMap(([name, provider]) => tooLongAnswers(name, provider)),
    ...Object.entries(channels.telegram).flatMap(([account, { botToken, apiRoot }]) =>
      apiRoot !== telegramDefaults.apiRoot || /^\d+:[^\s/?#]+$/.test(botToken.reveal())
        ? []
        : [
            finding(
              [...telegramPlace(account), "botToken"],
              "this is no token of a bot, so the account stays down",
              "Copy it again from @BotFather: <number>:<secret>",
            ),
          ],
    ),
    ...weakFindings([
      ...hookSecrets(hooks),
      ...Object.entries(channels.telegram).map(
        ([account, { webhook }]) => [[...telegramPlace(account), "webhookSecret"], webhook?.secret] as const,
      ),
    ]),
    ...drawingFindings(config),
    ...linkFindings(config),
    ...namedFindings(["commands", "ownerAllowFrom"], commands.ownerAllowFrom),
    ...namedFindings(["approvals", "exec", "approvers"], approvals.exec.approvers ?? []),
  ];
}

/** Without a provider the agent has no tool for pictures: nobody would guess why it is away. */
function drawingFindings({ agents, models }: Config): Finding[] {
  const { primary, fallbacks = [] } = agents.defaults.imageGenerationModel ?? {};
  return [...(primary === undefined ? [] : [primary]), ...fallbacks].flatMap((ref) => {
    const name = ref.slice(0, ref.indexOf("/"));
    return Object.hasOwn(models.providers, name)
      ? []
      : [
          finding(
            ["agents", "defaults", "imageGenerationModel"],
            `"${ref}" names the provider "${name}", which does not exist, so it makes no pictures`,
            `Add it under models.providers.${name}`,
          ),
        ];
  });
}

/** A model of whose window nothing is left for the question refuses every request. */
function tooLongAnswers(name: string, { models }: ProviderConfig): Finding[] {
  return models.flatMap(({ contextWindow, maxTokens }, index) =>
    contextWindow !== undefined && maxTokens !== undefined && maxTokens > contextWindow
      ? [
          finding(
            ["models", "providers", name, "models", index, "maxTokens"],
            `an answer of ${maxTokens} tokens does not fit into the contextWindow of ${contextWindow}`,
            "Set it well below contextWindow",
          ),
        ]
      : [],
  );
}

type Held = readonly (readonly [ConfigPath, Secret | undefined])[];

function hookSecrets({ token, endpoints, mappings }: Config["hooks"]): Held {
  const callers = [
    ...Object.entries(endpoints).map(([name, hook]) => [["hooks", "endpoints", name], hook] as const),
    ...mappings.map((hook, index) => [["hooks", "mappings", index], hook] as const),
  ];
  return [
    [["hooks", "token"], token],
    ...callers.flatMap(([at, hook]) =>
      (["token", "secret"] as const).map((key) => [[...at, key], hook[key]] as const),
    ),
  ];
}

/**
 * Whoever guesses one makes the agent work; what was set by hand elsewhere may be short, so it is not
 * refused.
 */
function weakFindings(held: Held): Finding[] {
  return held.flatMap(([at, secret]) => {
    const weakness = secret === undefined ? null : tokenWeakness(secret.reveal());
    return weakness === null
      ? []
      : [finding(at, `it can be guessed: ${weakness}`, "Use what `openssl rand -hex 32` prints")];
  });
}

function telegramPlace(account: string): ConfigPath {
  return ["channels", "telegram", ...(account === defaultAccount ? [] : ["accounts", account])];
}

/** Nobody can write from there yet, so what is linked has no effect. */
function linkFindings({ session, channels }: Config): Finding[] {
  return Object.entries(session.identityLinks).flatMap(([person, ids]) =>
    ids.flatMap((id, index) => {
      const channel = id.slice(0, id.indexOf(":"));
      const isThere =
        channel === "web"
          ? channels.web.enabled
          : Object.keys(channels[channel as "telegram" | "discord"] ?? {}).length > 0;
      const at = ["session", "identityLinks", person, index];
      return isThere
        ? []
        : [
            finding(
              at,
              `"${id}" is on ${channel}, which has no account here`,
              `Set up channels.${channel}, or remove the link`,
            ),
          ];
    }),
  );
}

/** The platforms' own ids are numbers. */
function namedFindings(at: ConfigPath, ids: readonly string[]): Finding[] {
  return ids.flatMap((id, index) =>
    /^(?:telegram|discord):(?![1-9]\d*$)/.test(id)
      ? [
          finding(
            [...at, index],
            `"${id}" is nobody: ids are numbers there`,
            "Use the numeric id; /whoami shows it",
          ),
        ]
      : [],
  );
}
