// Checks who may talk to the agents, what a stranger among them can cost or start, and who shares a session.
import { tokenWeakness, type Config } from "@parley/config";
import { error, warn, type Finding } from "../finding.ts";
import { agentsThat } from "./reach.ts";

export function channelFindings(config: Config): Finding[] {
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
  const bare = agentsThat(config, ({ sandbox }) => sandbox.mode === "off");
  return accounts.flatMap((account) => {
    const listsAll = account.dmPolicy === "allowlist" && account.allowFrom.includes("*");
    const isOpen = account.dmPolicy === "open" || listsAll;
    const groupsOpen = account.groupPolicy === "open";
    const secret = "webhook" in account ? account.webhook?.secret : undefined;
    const weakness = secret === undefined ? null : tokenWeakness(secret.reveal());
    return [
      ...(isOpen
        ? [
            warn(
              "channel.dm-open",
              listsAll
                ? `${account.name}: the allowlist has "*", which is everybody: anybody who finds the bot may talk to the agent, at your cost`
                : `${account.name}: dmPolicy is "open": anybody who finds the bot may talk to the agent, at your cost`,
              listsAll
                ? `List people in ${account.at}.allowFrom instead of "*", or set ${account.at}.dmPolicy to "pairing"`
                : `Set ${account.at}.dmPolicy to "pairing" or "allowlist"`,
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
      ...((isOpen || groupsOpen) && runsAll.length === 0 && bare.length > 0
        ? [
            warn(
              "channel.open-unsandboxed",
              `${account.name} is open to strangers, and the tools of ${bare.join(", ")} run on this machine itself`,
              'Set agents.defaults.sandbox.mode to "non-main" or "all", or take tools away by tools.toolsBySender',
            ),
          ]
        : []),
      ...(weakness === null
        ? []
        : [
            warn(
              "channel.webhook-secret",
              `${account.name}: webhookSecret can be guessed: ${weakness}`,
              "Use what `openssl rand -hex 32` prints: whoever has it writes as anybody",
            ),
          ]),
    ];
  });
}

/** Strangers cannot run up a bill. */
function isHeldBack({ limits, agents }: Config): boolean {
  const caps = [limits.person, limits.place, ...agents.list.flatMap(({ spend }) => spend ?? [])];
  return caps.some((cap) => Object.values(cap).some((value) => value !== undefined));
}

export function sessionFindings(config: Config): Finding[] {
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

export function at(channel: string, account: string): string {
  return account === "default" ? `channels.${channel}` : `channels.${channel}.accounts.${account}`;
}
