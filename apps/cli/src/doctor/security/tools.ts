// Checks what tools reach: commands, files, networks, other sessions, programs of others.
import { homedir } from "node:os";
import type { Config } from "@parley/config";
import { error, warn, type Finding } from "../finding.ts";
import { agentsThat } from "./reach.ts";

export function toolFindings(config: Config): Finding[] {
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
    ...untrustedTextFindings(config),
    ...networkFindings(config),
    ...programFindings(config),
  ];
}

/** What a page or another conversation can talk an agent into. */
function untrustedTextFindings({ tools, browser }: Config): readonly Finding[] {
  const reads = tools.web.fetch.enabled || tools.web.search.enabled || browser.enabled;
  return [
    ...(tools.taint === "off" && reads
      ? [
          warn(
            "tools.taint",
            "Agents that read the web send and spend outside without asking: a page can tell them to",
            "Run `parley config unset tools.taint`",
          ),
        ]
      : []),
    ...(tools.sessions.visibility === "all" && tools.agentToAgent.enabled
      ? [
          warn(
            "sessions.visible",
            'tools.sessions.visibility "all" shows an owner\'s turn the sessions of other agents too',
            'Use "tree" or "agent", unless one person owns all agents',
          ),
        ]
      : []),
    ...(tools.message.crossContext === "all"
      ? [
          warn(
            "message.everywhere",
            'tools.message.crossContext is "all": whoever talks to the agent can have it write to other people',
            'Use "owner"',
          ),
        ]
      : []),
    ...(browser.enabled && browser.evaluateEnabled
      ? [
          warn(
            "browser.evaluate",
            "Agents may run scripts of their own in pages where they are logged in",
            "Run `parley config unset browser.evaluateEnabled`",
          ),
        ]
      : []),
    ...(browser.enabled && browser.noSandbox
      ? [
          warn(
            "browser.no-sandbox",
            "Chromium runs without its own sandbox: a page that breaks out has the daemon's rights",
            "Run the gateway as a user that is not root, then `parley config unset browser.noSandbox`",
          ),
        ]
      : []),
  ];
}

/** Ways past the rule that the machine's own networks are closed. */
function networkFindings(config: Config): readonly Finding[] {
  const { allow } = config.tools.web.egress;
  const wide = allow.filter((place) => /\/(?:\d|1[0-5])$/.test(place) && !place.includes(":"));
  const shared = config.agents.list
    .filter(({ sandbox }) => sandbox.mode !== "off" && sandbox.network === true)
    .map(({ id }) => id);
  return [
    ...(wide.length > 0
      ? [
          warn(
            "egress.wide",
            `tools.web.egress.allow opens ${wide.join(", ")}: pages can lead an agent to every machine there`,
            "List the hosts that are needed, with their ports",
          ),
        ]
      : []),
    ...(shared.length > 0
      ? [
          warn(
            "sandbox.network",
            `Sandboxed commands of ${shared.join(", ")} reach this machine's own servers`,
            'Set sandbox.network to "egress": the web alone',
          ),
        ]
      : []),
  ];
}

/** Programs that fetch a package at every start run whatever was published last. */
const fetchers: { readonly [program: string]: RegExp } = {
  npx: /^(?:@[^/@]+\/)?[^@]+@\d/,
  pnpx: /^(?:@[^/@]+\/)?[^@]+@\d/,
  bunx: /^(?:@[^/@]+\/)?[^@]+@\d/,
  uvx: /(?:@|==)\d/,
};

function programFindings({ mcp }: Config): readonly Finding[] {
  return Object.entries(mcp.servers).flatMap(([name, { enabled, command = "", args }]) => {
    const pinned = fetchers[command.split("/").at(-1) ?? ""];
    const what = args.find((each) => !each.startsWith("-"));
    if (!enabled || pinned === undefined || what === undefined || pinned.test(what)) return [];
    return [
      warn(
        "mcp.unpinned",
        `mcp.servers.${name} starts the newest ${what} that somebody published, with its rights on this machine`,
        `Name a version (${what}@1.2.3), or install it`,
      ),
    ];
  });
}
