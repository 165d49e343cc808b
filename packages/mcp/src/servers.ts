// Holds the servers of the current config and makes their tools for a turn. A prompt takes them from what is
// pinned and starts nothing; only a server of which nothing is known is started to be listed. A changed
// config ends the servers that it changes and leaves the others alone.
import type { AddressRules, Refusal } from "@parley/egress";
import { Fault, isFault, type Clock, type Ids, type JsonObject, type Log } from "@parley/protocol";
import type { Sandbox, Tool } from "@parley/tools";
import { connect } from "./connection.ts";
import type { Definition, Listing } from "./definition.ts";
import { pinStore, usable, waiting, waitingCode, type PinCells, type Pins, type Waiting } from "./pins.ts";
import { programOf } from "./program.ts";
import { remoteTool } from "./remote-tool.ts";
import { resultOf, type KeepPicture } from "./result.ts";
import { server, type Server, type ServerState } from "./server.ts";
import { connectionOf, identityOf, type McpSettings, type ServerSettings } from "./settings.ts";
import { allows } from "./tool-rules.ts";

export interface McpServersOptions {
  readonly cells: PinCells;
  /** Of the gateway; only harmless names reach a server. */
  readonly host: { readonly [name: string]: string };
  /** Folders of servers that name none are made in here. */
  readonly folder: string;
  readonly keepPicture: KeepPicture | null;
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

interface ToolsAt {
  readonly tools: readonly Tool[];
  readonly unavailable: readonly { readonly tool: string; readonly reason: string }[];
}

export interface ServerView extends ServerState {
  readonly name: string;
  readonly enabled: boolean;
  /** The program or the address, without what may be secret. */
  readonly target: string;
  readonly transport: ServerSettings["transport"];
  readonly tools: readonly Definition[];
  readonly waiting: readonly Waiting[];
  /** Names what waits, for an approval; empty: nothing. */
  readonly code: string;
  readonly leftOut: Listing["leftOut"];
  readonly listedAtMs: number | null;
}

export interface McpServers {
  /** Takes up a config: ends what it changed or removed, and starts nothing. */
  use(settings: McpSettings): void;
  /**
   * `settings`: of the config that the turn runs by. `sandbox` null: the one that the agent must have cannot
   * be made.
   */
  at(settings: McpSettings, sandbox: Sandbox | null): Promise<ToolsAt>;
  list(): Promise<readonly ServerView[]>;
  /** Starts it, lists its tools, and returns what is known then. Throws Fault. */
  test(name: string): Promise<ServerView>;
  approve(name: string, code?: string): Promise<{ readonly tools: readonly string[] }>;
  /** Forgets what was approved: the next listing is the first one. */
  forget(name: string): Promise<boolean>;
  close(): Promise<void>;
}

interface Running {
  readonly name: string;
  readonly connection: string;
  readonly server: Server;
}

/** As a test from the command line has it, which is in no agent's place. */
const onHost = { kind: "none" } as Sandbox;
const none: McpSettings = { servers: {}, approveFirst: false };

export function mcpServers(options: McpServersOptions): McpServers {
  const { cells, clock, ids, log } = options;
  const pins = pinStore(cells);
  const running = new Map<string, Running>();
  let current = none;

  function settingsOf(name: string): ServerSettings {
    const settings = Object.hasOwn(current.servers, name) ? current.servers[name] : undefined;
    if (settings === undefined)
      throw new Fault("missing", `there is no MCP server "${name}" in the config (mcp.servers)`);
    return settings;
  }

  async function listed(name: string, identity: string, listing: Listing): Promise<void> {
    const { approveFirst } = current;
    const { pins: now, before } = await pins.listed(name, listing, {
      identity,
      approveFirst,
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

  function serverAt(name: string, settings: ServerSettings, place: Sandbox | null): Server {
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

  /** What is pinned of a server; one of which nothing is known is started first. */
  async function known(name: string, settings: ServerSettings, place: Sandbox | null): Promise<Pins> {
    const identity = identityOf(settings);
    const there = await pins.get(name);
    if (there !== null && there.identity === identity) return there;
    await serverAt(name, settings, place).ready();
    const listedNow = await pins.get(name);
    if (listedNow === null) throw new Fault("unavailable", "its tools are not known");
    return listedNow;
  }

  async function call(
    name: string,
    place: Sandbox | null,
    definition: Definition,
    args: JsonObject,
    signal: AbortSignal,
  ): Promise<unknown> {
    // A turn may have begun under another config: what the operator took away since is gone.
    const settings = settingsOf(name);
    if (!settings.enabled || !allows(settings.tools, definition.name))
      throw new Fault("missing", `${definition.name} is not in the config any more`);
    const here = serverAt(name, settings, place);
    return here.call(definition.name, args, signal, async () => {
      const now = await pins.get(name);
      const same = now === null ? undefined : usable(now).find((tool) => tool.name === definition.name);
      if (now?.identity !== identityOf(settings) || same === undefined)
        throw new Fault(
          "denied",
          `the server now describes ${definition.name} in another way than was approved, or has it no more; an owner has to look at it (parley mcp approve ${name})`,
        );
    });
  }

  async function toolsOf(name: string, settings: ServerSettings, place: Sandbox | null): Promise<ToolsAt> {
    let found: Pins;
    try {
      found = await known(name, settings, place);
    } catch (error) {
      const reason = isFault(error) ? error.message : "it cannot be used";
      if (!isFault(error)) log.error({ server: name, error }, "the tools of an MCP server cannot be told");
      return { tools: [], unavailable: [{ tool: `${name}__*`, reason: `MCP server ${name}: ${reason}` }] };
    }
    const there = usable(found).filter((tool) => allows(settings.tools, tool.name));
    return {
      tools: there.map((definition) =>
        remoteTool(name, definition, async (args, signal) =>
          resultOf(await call(name, place, definition, args, signal), options.keepPicture, signal),
        ),
      ),
      unavailable: waiting(found)
        .filter((tool) => allows(settings.tools, tool.name))
        .map(({ name: tool, before }) => ({
          tool: `${name}__${tool}`,
          reason: `${before === undefined ? "it is new" : "it says something else than before"}: an owner has to approve it (parley mcp approve ${name})`,
        })),
    };
  }

  async function viewOf(name: string): Promise<ServerView> {
    const settings = settingsOf(name);
    const found = await pins.get(name);
    const mine = found?.identity === identityOf(settings) ? found : null;
    const [here] = [...running.values()].filter((each) => each.name === name);
    return {
      ...(here?.server.state() ?? { state: "stopped", starts: 0 }),
      name,
      enabled: settings.enabled,
      target: targetOf(settings),
      transport: settings.transport,
      tools: mine === null ? [] : usable(mine).filter((tool) => allows(settings.tools, tool.name)),
      waiting: mine === null ? [] : waiting(mine),
      code: mine === null ? "" : waitingCode(mine),
      leftOut: mine?.leftOut ?? [],
      listedAtMs: mine?.listedAtMs ?? null,
    };
  }

  return {
    use(settings) {
      current = settings;
      for (const [key, { name, connection, server: old }] of running) {
        const now = Object.hasOwn(settings.servers, name) ? settings.servers[name] : undefined;
        if (now?.enabled === true && connectionOf(now) === connection) continue;
        running.delete(key);
        old
          .stop()
          .catch((error: unknown) => log.warn({ server: name, error }, "an MCP server did not end well"));
      }
    },
    async at({ servers }, sandbox) {
      const names = Object.keys(servers).toSorted();
      const found = await Promise.all(
        names.flatMap((name): Promise<ToolsAt>[] => {
          const settings = servers[name];
          return settings?.enabled === true ? [toolsOf(name, settings, sandbox)] : [];
        }),
      );
      return {
        tools: found.flatMap(({ tools }) => tools),
        unavailable: found.flatMap(({ unavailable }) => unavailable),
      };
    },
    list: () => Promise.all(Object.keys(current.servers).toSorted().map(viewOf)),
    async test(name) {
      const settings = settingsOf(name);
      if (!settings.enabled) throw new Fault("invalid", `mcp.servers.${name}.enabled is false`);
      const [there] = [...running.values()].filter((each) => each.name === name);
      const here = there?.server ?? serverAt(name, settings, onHost);
      here.forgive();
      try {
        await here.refresh();
      } catch (error) {
        if (isFault(error))
          throw new Fault(error.code, `MCP server ${name}: ${error.message}`, { cause: error });
        throw error;
      }
      return viewOf(name);
    },
    async approve(name, code) {
      settingsOf(name);
      const { tools } = await pins.approve(name, code);
      log.info({ server: name, tools }, "tools of an MCP server were approved");
      return { tools };
    },
    forget: (name) => pins.forget(name),
    async close() {
      const ending = [...running.values()];
      running.clear();
      await Promise.allSettled(ending.map((each) => each.server.stop()));
    },
  };
}

/** Where there are none. */
export const noServers: McpServers = {
  use: () => undefined,
  at: async () => ({ tools: [], unavailable: [] }),
  list: async () => [],
  test: missing,
  approve: missing,
  forget: missing,
  close: async () => undefined,
};

async function missing(name: string): Promise<never> {
  throw new Fault("missing", `there is no MCP server "${name}"`);
}

const stderrChars = 4_000;

/** Arguments may hold keys, and so may an address behind its path. */
function targetOf({ command, args, url }: ServerSettings): string {
  if (command !== undefined) return [command, ...args].join(" ");
  const { origin, pathname } = new URL(url ?? "http://invalid");
  return `${origin}${pathname}`;
}
