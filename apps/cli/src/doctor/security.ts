// Checks who can reach, read or order what: settings that let in more than most people mean.
import { isIP } from "node:net";
import { homedir } from "node:os";
import { isAbsolute } from "node:path";
import { isLoopbackBind, tokenWeakness, type Config, type Places } from "@parley/config";
import type { Json } from "@parley/protocol";
import { error, ok, warn, type Finding } from "./finding.ts";

/** Folders that a program copies elsewhere, or that others write. */
const synced =
  /\/(?:Dropbox|OneDrive[^/]*|Google Drive|GoogleDrive|Library\/Mobile Documents|iCloud[^/]*|Nextcloud|Syncthing|pCloud[^/]*)\//;

export function securityFindings(config: Config, places: Places, file: Json): Finding[] {
  const found = [
    ...gatewayFindings(config),
    ...channelFindings(config),
    ...toolFindings(config),
    ...sessionFindings(config),
    ...secretFindings(file, places),
    ...transportFindings(config),
    ...backupFindings(config),
    ...(synced.test(`${places.home}/`)
      ? [
          warn(
            "home.synced",
            `The state folder ${places.home} is copied by a sync program: chats and keys leave this machine, and the database can break`,
            "Set PARLEY_HOME to a folder that is not synced",
          ),
        ]
      : []),
  ];
  return found.length > 0 ? found : [ok("security", "Nothing in the config lets more in than it should")];
}

function gatewayFindings({ gateway }: Config): Finding[] {
  const token = gateway.auth.token?.reveal();
  // Beyond loopback such a config is refused.
  const weakness = token === undefined ? null : tokenWeakness(token);
  return [
    ...(weakness === null
      ? []
      : [
          error(
            "gateway.token.weak",
            `gateway.auth.token gives full control and can be guessed: ${weakness}`,
            "Run `parley config unset gateway.auth.token`: a random one is then made",
          ),
        ]),
    ...(!isLoopbackBind(gateway.bind)
      ? [
          warn(
            "gateway.bind",
            `gateway.bind "${gateway.bind}" lets other machines reach the control plane, without encryption`,
            'Use "loopback" behind a reverse proxy with TLS, or a VPN',
          ),
        ]
      : []),
    ...(gateway.allowedHosts.includes("*")
      ? [
          error(
            "gateway.allowed-hosts",
            'gateway.allowedHosts has "*": any web page may then reach the gateway by another name',
            "List the names of your proxy instead",
          ),
        ]
      : []),
  ];
}

/** Strangers cannot run up a bill. */
function isHeldBack({ limits, agents }: Config): boolean {
  const caps = [limits.person, limits.place, ...agents.list.flatMap(({ spend }) => spend ?? [])];
  return caps.some((cap) => Object.values(cap).some((value) => value !== undefined));
}

/** Inside the state folder a copy is as private as what it copies. */
function backupFindings({ backup }: Config): Finding[] {
  const { everyHours, folder, passphrase } = backup;
  if (everyHours === undefined || passphrase !== undefined || !isAbsolute(folder)) return [];
  return [
    warn(
      "backup.plain",
      `The backups in ${folder} are not encrypted: they hold all chats`,
      'Set backup.passphrase, as { file: "secrets/backup" }',
    ),
  ];
}

function channelFindings(config: Config): Finding[] {
  const accounts = [
    ...Object.entries(config.channels.telegram).map(([id, each]) => ({
      name: `telegram:${id}`,
      at: at("telegram", id),
      ...each,
    })),
    ...Object.entries(config.channels.discord).map(([id, each]) => ({
      name: `discord:${id}`,
      at: at("discord", id),
      ...each,
    })),
  ];
  const runsAll = agentsThat(config, ({ exec }) => exec.mode === "full");
  return accounts.flatMap((account) => {
    const isOpen =
      account.dmPolicy === "open" || (account.dmPolicy === "allowlist" && account.allowFrom.includes("*"));
    const groupsOpen = account.groupPolicy === "open";
    return [
      ...(isOpen
        ? [
            warn(
              "channel.dm-open",
              `${account.name}: anybody who finds the bot may talk to the agent, at your cost`,
              `Set ${account.at}.dmPolicy to "pairing" or "allowlist"`,
            ),
          ]
        : []),
      ...(groupsOpen
        ? [
            warn(
              "channel.group-open",
              `${account.name}: the bot serves every group that anybody adds it to`,
              `Set ${account.at}.groupPolicy to "allowlist"`,
            ),
          ]
        : []),
      ...((isOpen || groupsOpen) && !isHeldBack(config)
        ? [
            warn(
              "channel.open-unlimited",
              `${account.name} is open to strangers, and nothing limits what one of them may spend`,
              "Set limits.person, for example { messagesPerMinute: 10, dayUsd: 1 }",
            ),
          ]
        : []),
      ...((isOpen || groupsOpen) && runsAll.length > 0
        ? [
            error(
              "channel.open-exec",
              `${account.name} is open to strangers, and ${runsAll.join(", ")} may run any command`,
              'Close the channel, or set tools.exec.mode to "allowlist"',
            ),
          ]
        : []),
      ...("webhook" in account && account.webhook !== undefined && account.webhook.secret.reveal().length < 16
        ? [
            warn(
              "channel.webhook-secret",
              `${account.name}: webhookSecret is short`,
              "Use at least 16 random characters",
            ),
          ]
        : []),
    ];
  });
}

function at(channel: string, account: string): string {
  return account === "default" ? `channels.${channel}` : `channels.${channel}.accounts.${account}`;
}

interface Reach {
  readonly exec: { readonly mode: string; readonly ask: string };
  readonly sandbox: { readonly mode: string };
}

function agentsThat(config: Config, test: (reach: Reach) => boolean): string[] {
  return config.agents.list
    .filter((agent) => test({ exec: agent.tools.exec, sandbox: agent.sandbox }))
    .map(({ id }) => id);
}

function toolFindings(config: Config): Finding[] {
  const free = agentsThat(config, ({ exec, sandbox }) => exec.mode === "full" && sandbox.mode !== "all");
  const unasked = agentsThat(
    config,
    ({ exec, sandbox }) => exec.mode === "full" && exec.ask === "off" && sandbox.mode !== "all",
  );
  const wide = config.tools.fs.readRoots.filter(
    (root) => root === "/" || root === homedir() || root === "/etc" || root === "/root" || root === "/home",
  );
  return [
    ...(unasked.length > 0
      ? [
          error(
            "exec.unasked",
            `${unasked.join(", ")} may run any command on this machine, and nobody is asked`,
            'Set tools.exec.mode to "allowlist", or agents.defaults.sandbox.mode to "all"',
          ),
        ]
      : free.length > 0
        ? [
            warn(
              "exec.full",
              `${free.join(", ")} may run any command on this machine`,
              'Set tools.exec.mode to "allowlist", or agents.defaults.sandbox.mode to "all"',
            ),
          ]
        : []),
    ...(wide.length > 0
      ? [
          warn(
            "fs.read-roots",
            `tools.fs.readRoots has ${wide.join(", ")}: keys and passwords of others lie there`,
            "List the folders that are really needed",
          ),
        ]
      : []),
    ...(config.tools.rehearsal
      ? [warn("tools.rehearsal", "The rehearsal tools are on", "Run `parley config unset tools.rehearsal`")]
      : []),
  ];
}

function sessionFindings(config: Config): Finding[] {
  const scoped =
    config.session.dmScope === "main" || config.bindings.some(({ session }) => session?.dmScope === "main");
  const several = [
    ...Object.values(config.channels.telegram),
    ...Object.values(config.channels.discord),
  ].some(
    ({ dmPolicy, allowFrom }) =>
      dmPolicy === "pairing" || dmPolicy === "open" || allowFrom.length > 1 || allowFrom.includes("*"),
  );
  if (!scoped || !several) return [];
  return [
    error(
      "session.shared",
      'session.dmScope is "main" and several people may write: each of them sees what the others said to the agent',
      'Set session.dmScope to "per-channel-peer"',
    ),
  ];
}

/**
 * Secrets that stand in the file itself: it is copied, shown and backed up more often than an environment or
 * a file of its own.
 */
function secretFindings(file: Json, { configPath }: Places): Finding[] {
  const literal: string[] = [];
  const walk = (value: Json, path: string): void => {
    if (value === "[secret]") literal.push(path);
    else if (typeof value === "object" && value !== null)
      for (const [key, each] of Object.entries(value))
        walk(each as Json, path === "" ? key : `${path}.${key}`);
  };
  walk(file, "");
  if (literal.length === 0) return [];
  return [
    warn(
      "config.secrets",
      `${configPath} itself holds ${literal.join(", ")}`,
      'Write { env: "NAME" } or { file: "secrets/name" } in their place, so that the file can be shown and copied',
    ),
  ];
}

function transportFindings(config: Config): Finding[] {
  const plain = (url: string | undefined): boolean =>
    url !== undefined && /^http:\/\//i.test(url) && !isNear(url);
  const providers = Object.entries(config.models.providers).filter(
    ([, { baseUrl, apiKey }]) => apiKey !== undefined && plain(baseUrl),
  );
  const roots = [
    ...Object.entries(config.channels.telegram).map(
      ([id, each]) => [at("telegram", id), each.apiRoot] as const,
    ),
    ...Object.entries(config.channels.discord).map(
      ([id, each]) => [at("discord", id), each.apiRoot] as const,
    ),
  ];
  const redis = config.store.redis?.url.reveal();
  return [
    ...providers.map(([name, { baseUrl }]) =>
      warn(
        "transport.provider",
        `The key of models.providers.${name} travels unencrypted to ${baseUrl}`,
        "Use https",
      ),
    ),
    ...roots
      .filter(([, root]) => plain(root))
      .map(([place]) =>
        warn("transport.channel", `The token of ${place} travels unencrypted to its apiRoot`, "Use https"),
      ),
    ...(redis !== undefined && redis.startsWith("redis://") && !isNear(redis)
      ? [
          warn(
            "transport.redis",
            "Chats travel unencrypted to Redis on another machine",
            'Use "rediss://", or a network of their own',
          ),
        ]
      : []),
  ];
}

/** This machine, or a private network by number or bare name (a container's neighbour, localhost). */
function isNear(url: string): boolean {
  if (!URL.canParse(url)) return true;
  const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
  if (host.includes(":")) return /^(?:::1$|f[cd]|fe80:)/i.test(host);
  if (!host.includes(".")) return true;
  return isIP(host) !== 0 && /^(?:127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)/.test(host);
}
