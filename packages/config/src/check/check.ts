// Checks the config beyond the schema: blocks that contradict each other, names that lead nowhere, and
// settings that would let strangers in (I13).
import { isAgentId, isUnsafeEnvName, reservedWords } from "@parley/protocol";
import { accountPath } from "../accounts.ts";
import { peopleFindings } from "./people.ts";
import { routingFindings } from "./routing.ts";
import type { DmPolicy } from "../channel-config.ts";
import { isLoopbackBind, type Config } from "../config.ts";
import { modelRefs, modelTrouble, wellKnownProviders } from "../providers.ts";
import type { ConfigPath } from "../problem.ts";
import type { ConfigFile } from "../schema/root.ts";
import type { Secret } from "../secret.ts";
import { finding, type Finding } from "../validate/validate.ts";
import { tokenWeakness } from "./weak-token.ts";

export function check(file: ConfigFile, config: Config): readonly Finding[] {
  return [
    ...gatewayFindings(config),
    ...storeFindings(config),
    ...providerFindings(config),
    ...modelFindings(file, config),
    ...modelBookFindings(config),
    ...transcribeFindings(config),
    ...agentFindings(file),
    ...channelFindings(file, config),
    ...peopleFindings(config),
    ...skillFindings(config),
    ...routingFindings(file, config),
  ];
}

/** The token gives full control to whoever reaches the port. */
function gatewayFindings({ gateway }: Config): Finding[] {
  const { bind, auth } = gateway;
  if (isLoopbackBind(bind)) return [];
  const reach = `"${bind}" lets other machines reach the gateway`;
  if (auth.token === undefined) {
    return [
      finding(
        ["gateway", "bind"],
        `${reach}, and no token is set`,
        'Set gateway.auth.token, or use "loopback"',
      ),
    ];
  }
  const weakness = tokenWeakness(auth.token.reveal());
  const fix = 'Write what `openssl rand -hex 32` prints, or set gateway.bind to "loopback"';
  return weakness === null
    ? []
    : [finding(["gateway", "auth", "token"], `${reach}, and this token can be guessed: ${weakness}`, fix)];
}

function storeFindings({ store: { driver, redis } }: Config): Finding[] {
  if (redis === undefined) {
    const fix = 'Set store.redis.url to "redis://host:6379", or use "sqlite"';
    return driver === "redis"
      ? [finding(["store", "driver"], '"redis" needs to know where Redis is', fix)]
      : [];
  }
  const url = redis.url.reveal();
  const known = url.startsWith("/") || (/^rediss?:\/\/./.test(url) && URL.canParse(url));
  const fix = 'Write "redis://host:6379", "rediss://host:6379" for TLS, or the path of a Unix socket';
  return known ? [] : [finding(["store", "redis", "url"], "this is no address of a Redis", fix)];
}

function providerFindings({ models }: Config): Finding[] {
  return Object.entries(models.providers).flatMap(([name, provider]) => {
    const at = ["models", "providers", name];
    if (name === "rehearsal") return [finding(at, '"rehearsal" is built in', "Choose another name")];
    if (wellKnownProviders.has(name)) return [];
    const missing = (["api", "baseUrl"] as const).filter((key) => provider[key] === undefined);
    return missing.map((key) =>
      finding(at, `"${name}" is no well-known provider and has no ${key}`, `Set ${key}`),
    );
  });
}

function modelFindings(file: ConfigFile, { agents, models }: Config): Finding[] {
  const chosen: (readonly [ConfigPath, readonly string[]])[] = [
    [["agents", "defaults", "model"], modelRefs(agents.defaults.model)],
    [["agents", "defaults", "imageModel"], imageModelRefs(agents.defaults.imageModel)],
    [
      ["agents", "defaults", "imageGenerationModel"],
      // Whoever lists models of a well-known service lists those that answer, and it draws with others.
      imageModelRefs(agents.defaults.imageGenerationModel).filter((ref) => isListed(ref, models.providers)),
    ],
    // An inherited choice is reported once, where it stands.
    ...agents.list.flatMap((agent, index) =>
      file.agents.list[index]?.model === undefined
        ? []
        : [[["agents", "list", index, "model"], modelRefs(agent.model)] as const],
    ),
  ];
  return chosen.flatMap(([at, refs]) =>
    [...new Set(refs)].flatMap((ref) => {
      const trouble = modelTrouble(ref, models.providers);
      return trouble === null ? [] : [finding(at, trouble.message, trouble.fix)];
    }),
  );
}

/** True for a provider of the config's own, whose list is all that it has. */
function isListed(ref: string, providers: Config["models"]["providers"]): boolean {
  const name = ref.slice(0, ref.indexOf("/"));
  return Object.hasOwn(providers, name) && !wellKnownProviders.has(name);
}

function imageModelRefs(choice: Config["agents"]["defaults"]["imageModel"]): readonly string[] {
  return [...(choice?.primary === undefined ? [] : [choice.primary]), ...(choice?.fallbacks ?? [])];
}

function modelBookFindings({ agents, models }: Config): Finding[] {
  const holders = new Map<string, string>();
  return Object.entries(agents.defaults.models).flatMap(([ref, { alias }]) => {
    const at = ["agents", "defaults", "models", ref];
    const trouble = modelTrouble(ref, models.providers);
    const found = trouble === null ? [] : [finding(at, trouble.message, trouble.fix)];
    if (alias === undefined) return found;
    const holder = holders.get(alias.toLowerCase());
    holders.set(alias.toLowerCase(), holder ?? ref);
    if (holder !== undefined)
      found.push(
        finding([...at, "alias"], `"${alias}" is the alias of "${holder}" already`, "Choose another alias"),
      );
    if (modelCommandWords.has(alias.toLowerCase())) {
      found.push(finding([...at, "alias"], `"${alias}" is a word of /model itself`, "Choose another alias"));
    }
    return found;
  });
}

/** Any model of it may be named: speech is not among those that answer. */
function transcribeFindings({ messages: { audio }, models: { providers } }: Config): Finding[] {
  if (audio.transcribe === undefined) return [];
  const name = audio.transcribe.slice(0, audio.transcribe.indexOf("/"));
  if (Object.hasOwn(providers, name)) return [];
  const fix = `Add models.providers.${name} with its apiKey, or remove the key`;
  return [
    finding(
      ["messages", "audio", "transcribe"],
      `"${audio.transcribe}" names the provider "${name}", which does not exist`,
      fix,
    ),
  ];
}

const modelCommandWords = new Set(["list", "status", "default", "reset"]);

function agentFindings({ agents }: ConfigFile): Finding[] {
  const ids = agents.list.map((agent) => agent.id);
  return ids.flatMap((id, index) =>
    ids.indexOf(id) === index
      ? []
      : [finding(["agents", "list", index, "id"], `the agent "${id}" stands twice`, "Give it another id")],
  );
}

function channelFindings(file: ConfigFile, config: Config): Finding[] {
  const found: Finding[] = [];
  for (const channel of ["telegram", "discord"] as const) {
    const holders = new Map<string, string>();
    for (const id of Object.keys(file.channels[channel].accounts))
      found.push(...accountIdFindings(channel, id));
    for (const [id, account] of Object.entries(config.channels[channel])) {
      const at = accountPath(channel, id, file);
      const [key, token]: [string, Secret] =
        "botToken" in account ? ["botToken", account.botToken] : ["token", account.token];
      const holder = holders.get(token.reveal());
      if (holder === undefined) holders.set(token.reveal(), id);
      else
        found.push(
          finding(
            [...at, key],
            `the accounts "${holder}" and "${id}" have the same token and would take each other's messages`,
            "Remove one",
          ),
        );
      found.push(...dmFindings(at, account.dmPolicy, account.allowFrom));
    }
    for (const id of Object.keys(file.channels[channel].accounts))
      found.push(...tokenFindings(file, config, channel, id));
  }
  for (const at of webhookPlaces(file)) {
    found.push(
      finding(at, "a webhook without a secret would accept forged messages", "Set webhookSecret beside it"),
    );
  }
  for (const [id, { proxy, webhook }] of Object.entries(config.channels.telegram)) {
    if (proxy !== undefined && !isProxyAddress(proxy.reveal())) {
      found.push(
        finding(
          [...accountPath("telegram", id, file), "proxy"],
          "this is no address of an HTTP proxy",
          'Write "http://host:port"; SOCKS is not spoken',
        ),
      );
    }
    if (webhook === undefined || /^[A-Za-z0-9_-]{1,256}$/.test(webhook.secret.reveal())) continue;
    found.push(
      finding(
        [...accountPath("telegram", id, file), "webhookSecret"],
        "Telegram would not take this secret",
        'Use 1 to 256 of A-Z, a-z, 0-9, "_" and "-"',
      ),
    );
  }
  return found;
}

function isProxyAddress(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text);
}

function accountIdFindings(channel: string, id: string): Finding[] {
  const at = ["channels", channel, "accounts", id];
  if (reservedWords.has(id))
    return [finding(at, `"${id}" is a word of session keys and cannot name an account`, "Choose another id")];
  return isAgentId(id)
    ? []
    : [finding(at, `"${id}" is not an account id`, 'Use a-z, 0-9, "_" and "-", at most 64 characters')];
}

/** An entry under `accounts` without a token would be silently ignored. */
function tokenFindings(
  file: ConfigFile,
  config: Config,
  channel: "telegram" | "discord",
  id: string,
): Finding[] {
  if (Object.hasOwn(config.channels[channel], id)) return [];
  const { accounts, enabled } = file.channels[channel];
  if (enabled === false || accounts[id]?.enabled === false) return [];
  const key = channel === "telegram" ? "botToken" : "token";
  return [
    finding(
      ["channels", channel, "accounts", id],
      `the account "${id}" has no ${key}`,
      `Set ${key}, or enabled: false`,
    ),
  ];
}

function dmFindings(at: ConfigPath, policy: DmPolicy, allowFrom: readonly string[]): Finding[] {
  if (policy === "open" && !allowFrom.includes("*")) {
    return [
      finding(
        [...at, "dmPolicy"],
        'dmPolicy "open" lets everybody in and must say so',
        'Set allowFrom: ["*"], or use "pairing"',
      ),
    ];
  }
  // Under "allowlist" the star counts in groups alone.
  if (policy === "allowlist" && allowFrom.every((id) => id === "*")) {
    const what = allowFrom.length === 0 ? "an empty allowFrom" : 'allowFrom: ["*"]';
    const fix = allowFrom.length === 0 ? 'use "pairing" or "disabled"' : 'use "open" for everybody';
    return [
      finding(
        [...at, "dmPolicy"],
        `dmPolicy "allowlist" with ${what} lets nobody in`,
        `List ids in allowFrom, or ${fix}`,
      ),
    ];
  }
  return [];
}

function webhookPlaces({ channels }: ConfigFile): ConfigPath[] {
  const { accounts, ...root } = channels.telegram;
  const places: ConfigPath[] = [];
  if (root.webhookUrl !== undefined && root.webhookSecret === undefined)
    places.push(["channels", "telegram", "webhookUrl"]);
  for (const [id, account] of Object.entries(accounts)) {
    if (
      account.webhookUrl !== undefined &&
      account.webhookSecret === undefined &&
      root.webhookSecret === undefined
    ) {
      places.push(["channels", "telegram", "accounts", id, "webhookUrl"]);
    }
  }
  return places;
}

function skillFindings({ skills }: Config): Finding[] {
  return Object.entries(skills.entries).flatMap(([key, { env }]) =>
    Object.keys(env)
      .filter(isUnsafeEnvName)
      .map((name) =>
        finding(
          ["skills", "entries", key, "env", name],
          `${name} changes how programs run and is not set for a skill`,
          "Remove it",
        ),
      ),
  );
}
