// Holds the servers that run, one for each place: the host, and every sandbox that an agent's program is to
// run in. What a server lists is pinned before any call, and what waits for an approval then is told.
import type { AddressRules, Refusal } from "@parley/egress";
import { Fault, type Clock, type Ids, type Log } from "@parley/protocol";
import type { Sandbox } from "@parley/tools";
import { connect } from "./connection.ts";
import type { Listing } from "./definition.ts";
import type { Logins } from "./oauth/logins.ts";
import { waiting, waitingCode, type pinStore, type Waiting } from "./pins.ts";
import { programOf } from "./program.ts";
import { server, type Server } from "./server.ts";
import { connectionOf, identityOf, type ServerSettings } from "./settings.ts";

const stderrChars = 4_000;

export interface RunningServersOptions {
  /** Of the gateway; only harmless names reach a server. */
  readonly host: { readonly [name: string]: string };
  /** Folders of servers that name none are made in here. */
  readonly folder: string;
  /** What egress may dial, for servers that are reached by HTTP. */
  readonly rules: () => Promise<AddressRules>;
  readonly refused: (refusal: Refusal) => void;
  /** False where nothing may be started: only what is pinned is there. */
  readonly mayStart: boolean;
  /** Tools wait for an approval that did not wait before. */
  readonly onWaiting: (server: string, tools: readonly Waiting[], code: string) => void;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

interface Running {
  readonly name: string;
  readonly connection: string;
  readonly server: Server;
}

export interface RunningServers {
  /** `place` null: the sandbox that the agent must have cannot be made. Throws Fault. */
  at(name: string, settings: ServerSettings, place: Sandbox | null): Server;
  /** One of those under this name. */
  find(name: string): Server | undefined;
  /** Ends those that `stays` does not hold for. */
  end(stays: (server: Pick<Running, "name" | "connection">) => boolean): Promise<void>;
}

/** A key that the config gives leaves no login to make. */
export const hasKey = (headers: ServerSettings["headers"]): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === "authorization");

export function runningServers(
  options: RunningServersOptions,
  pins: Pick<ReturnType<typeof pinStore>, "listed">,
  access: Pick<Logins, "authOf">,
  approveFirst: () => boolean,
): RunningServers {
  const { clock, ids, log } = options;
  const running = new Map<string, Running>();

  async function listed(name: string, identity: string, listing: Listing): Promise<void> {
    const { pins: now, before } = await pins.listed(name, listing, {
      identity,
      approveFirst: approveFirst(),
      atMs: clock.now(),
    });
    const code = waitingCode(now);
    if (code !== "" && (before === null || waitingCode(before) !== code)) {
      const tools = waiting(now);
      log.warn(
        { server: name, tools: tools.map((tool) => tool.name), code },
        "tools of an MCP server are new or say something else: they wait for an approval (parley mcp approve)",
      );
      options.onWaiting(name, tools, code);
    }
  }

  function at(name: string, settings: ServerSettings, place: Sandbox | null): Server {
    if (!options.mayStart) throw new Fault("unavailable", "the gateway is not running");
    const isOutside = settings.command === undefined || settings.sandbox === "off";
    if (!isOutside && place === null)
      throw new Fault("unavailable", "it would run in the agent's sandbox, which cannot be made");
    const sandbox = isOutside || place?.kind === "none" ? null : place;
    const connection = connectionOf(settings);
    const key = [name, connection, sandbox === null ? "host" : `${sandbox.rules} ${sandbox.workspace}`].join(
      "\n",
    );
    const found = running.get(key);
    if (found !== undefined) return found.server;
    const identity = identityOf(settings);
    let stderr = "";
    const made = server({
      name,
      idleMs: () => settings.idleMs,
      async open({ gone, toolsChanged }) {
        const { folder, host, rules, refused } = options;
        const lines = log.child({ part: "mcp", server: name });
        stderr = "";
        try {
          return await connect({
            settings,
            program: await programOf(name, settings, { sandbox, folder, host }),
            mark: ids.uuid(),
            rules,
            refused,
            auth: hasKey(settings.headers)
              ? null
              : (fetch) =>
                  access.authOf({ server: name, url: settings.url ?? "", settings: settings.oauth }, fetch),
            onToolsChanged: toolsChanged,
            onClose: gone,
            onStderr: (text) => {
              stderr = `${stderr}${text}`.slice(-stderrChars);
            },
            clock,
          });
        } catch (error) {
          lines.warn({ error, stderr }, "an MCP server did not come up");
          throw error;
        }
      },
      listed: (listing) => listed(name, identity, listing),
      clock,
      log: log.child({ part: "mcp" }),
    });
    running.set(key, { name, connection, server: made });
    return made;
  }

  return {
    at,
    find: (name) => [...running.values()].find((each) => each.name === name)?.server,
    async end(stays) {
      const ending = [...running].filter(([, each]) => !stays(each));
      for (const [key] of ending) running.delete(key);
      await Promise.all(
        ending.map(([, { name, server: old }]) =>
          old
            .stop()
            .catch((error: unknown) => log.warn({ server: name, error }, "an MCP server did not end well")),
        ),
      );
    },
  };
}
