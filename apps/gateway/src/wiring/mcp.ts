// Wires the servers of mcp.servers: the config with its secrets revealed, and the cards by which owners learn
// of tools that wait for their approval.
import { join } from "node:path";
import { type Config, isSecret, type Secret } from "@parley/config";
import { withShortValues } from "@parley/delivery";
import { mcpServers, type McpServers, type McpSettings, type Waiting } from "@parley/mcp";
import {
  accountKey,
  conversationKey,
  formatContent,
  visibleText,
  type Address,
  type Clock,
  type Ids,
  type Log,
  type Part,
} from "@parley/protocol";
import type { RemoteTools } from "@parley/runner";
import type { Store } from "@parley/store";
import type { Pictures } from "@parley/tools";

export interface McpWiring {
  readonly store: Pick<Store, "cells" | "outbox">;
  readonly home: string;
  /** Absent: no pictures are shown. */
  readonly pictures?: Pictures;
  readonly env: { readonly [name: string]: string | undefined };
  /** Takes tokens of logins, which nothing may show. */
  readonly learn: (secrets: readonly string[]) => void;
  readonly configNow: () => Pick<Config, "tools">;
  /** Counts a refused address by its reason. */
  readonly refused: (reason: string) => void;
  /** Private chats of those who may decide; absent: nothing may be started, and nobody is told. */
  readonly deciders?: () => Promise<readonly Address[]>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export function wireMcp(wiring: McpWiring): McpServers {
  const { store, home, pictures, env, learn, configNow, refused, deciders, clock, ids, log } = wiring;
  return mcpServers({
    cells: store.cells,
    host: Object.fromEntries(
      Object.entries({ PATH: "/usr/bin:/bin", ...env }).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value]],
      ),
    ),
    folder: join(home, "mcp"),
    loginFolder: join(home, "mcp-logins"),
    hide: learn,
    keepPicture: pictures?.keep ?? null,
    async rules() {
      const { rulesOf } = await import("@parley/egress");
      return rulesOf(configNow().tools.web.egress);
    },
    refused({ host, reason }) {
      refused(reason);
      log.warn({ host, reason }, "an address was not dialled for an MCP server");
    },
    mayStart: deciders !== undefined,
    onWaiting(server, tools, code) {
      tell(server, tools, code).catch((error: unknown) =>
        log.warn({ server, error }, "the owners could not be told of the tools of an MCP server"),
      );
    },
    clock,
    ids,
    log,
  });

  async function tell(server: string, tools: readonly Waiting[], code: string): Promise<void> {
    for (const address of (await deciders?.()) ?? []) {
      const id = `mcp:${server}:${code}:${conversationKey(address)}`;
      const { parts, cells } = withShortValues(card(server, tools, code), {
        id,
        to: address,
        commands: true,
      });
      for (const { key, value, ttlMs } of cells)
        await store.cells.put(key, value ?? "", ttlMs === undefined ? {} : { ttlMs });
      await store.outbox.post([
        {
          id,
          pool: accountKey(address),
          lane: conversationKey(address),
          cause: id,
          parts: [{ content: formatContent({ v: 1, kind: "reply", parts }) }],
        },
      ]);
    }
  }
}

/** The servers as turns get their tools. */
export function remoteTools(servers: Pick<McpServers, "at">): RemoteTools {
  return { at: (config, sandbox) => servers.at(mcpSettings(config), sandbox) };
}

const mostShown = 12;
const shownChars = 300;

/** A person reads what the model would be told; what does not fit here stands in `parley mcp list NAME`. */
function card(server: string, tools: readonly Waiting[], code: string): readonly Part[] {
  const lines = tools
    .slice(0, mostShown)
    .map(({ name, now, before }) =>
      [
        `- \`${plain(name, 80)}\` (${before === undefined ? "new" : "changed"})`,
        ...(before === undefined ? [] : [`  before: ${plain(before.description, shownChars)}`]),
        `  ${before === undefined ? "says" : "now"}: ${plain(now.description, shownChars)}`,
      ].join("\n"),
    );
  const more = tools.length > mostShown ? [`… and ${tools.length - mostShown} more.`] : [];
  const markdown = [
    `🔐 **Tools of the MCP server "${server}"** are new or say something else than before. They are not used until an owner has looked at them.`,
    ...lines,
    ...more,
    `All of their words and arguments: \`parley mcp list ${server}\`. Approve with the button, \`/mcp approve ${server} ${code}\` or \`parley mcp approve ${server}\`; to leave them out, do nothing.`,
  ].join("\n\n");
  const approve = { label: "✅ Approve", value: `/mcp approve ${server} ${code}`, style: "success" } as const;
  return [{ kind: "text", markdown, buttons: [[approve]] }];
}

function plain(text: string, chars: number): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  const shown = visibleText(line.slice(0, chars).toWellFormed()).replaceAll(/[`*_[\]<>|~]+/g, " ");
  return line.length > chars ? `${shown}…` : shown;
}

/** As the servers are started: with their secrets. */
export function mcpSettings({ servers, approve }: Config["mcp"]): McpSettings {
  return {
    approveFirst: approve === "all",
    servers: Object.fromEntries(
      Object.entries(servers).map(
        ([name, { timeoutSeconds, startTimeoutSeconds, idleMinutes, env, headers, oauth, ...server }]) => [
          name,
          {
            ...server,
            env: revealed(env),
            headers: revealed(headers),
            oauth: revealed(oauth),
            timeoutMs: timeoutSeconds * 1_000,
            startTimeoutMs: startTimeoutSeconds * 1_000,
            idleMs: idleMinutes * 60_000,
          },
        ],
      ),
    ),
  };
}

function revealed(values: { readonly [name: string]: string | Secret }): { readonly [name: string]: string } {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, isSecret(value) ? value.reveal() : value]),
  );
}
