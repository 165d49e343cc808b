// Holds the servers of the current config and makes their tools for a turn. A prompt takes them from what is
// pinned and starts nothing; only a server of which nothing is known is started to be listed. A changed
// config ends the servers that it changes and leaves the others alone.
import { Fault, isFault, type JsonObject } from "@parley/protocol";
import type { Sandbox, Tool } from "@parley/tools";
import type { Definition } from "./definition.ts";
import { credentialFiles } from "./oauth/credential-files.ts";
import { renewalLock, type LockCells } from "./oauth/renewal-lock.ts";
import { logins, type LoginTarget } from "./oauth/logins.ts";
import { pinStore, usable, waiting, type PinCells, type Pins } from "./pins.ts";
import { remoteTool } from "./remote-tool.ts";
import { resultOf, type KeepPicture } from "./result.ts";
import { viewOf, type ServerView } from "./server-view.ts";
import { hasKey, runningServers, type RunningServersOptions } from "./running-servers.ts";
import { connectionOf, identityOf, type McpSettings, type ServerSettings } from "./settings.ts";
import { allows } from "./tool-rules.ts";

export interface McpServersOptions extends RunningServersOptions {
  readonly cells: Pick<PinCells, "get"> & LockCells;
  /** What servers gave for a login is kept in here. */
  readonly loginFolder: string;
  /** Takes tokens of logins as they become known: no log, transcript or answer may show them. */
  readonly hide: (secrets: readonly string[]) => void;
  readonly keepPicture: KeepPicture | null;
}

interface ToolsAt {
  readonly tools: readonly Tool[];
  readonly unavailable: readonly { readonly tool: string; readonly reason: string }[];
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
  /** Returns the address that a person opens to log in. Throws Fault. */
  login(name: string, redirectUrl: string): Promise<string>;
  /** `answer`: the address that the person was led to, or the code in it. Throws Fault. */
  finishLogin(name: string, answer: string): Promise<ServerView>;
  /** Returns false where nobody was logged in. */
  logout(name: string): Promise<boolean>;
  /** Forgets what was approved, and the login: the next listing is the first one. */
  forget(name: string): Promise<boolean>;
  close(): Promise<void>;
}

/** As a test from the command line has it, which is in no agent's place. */
const onHost = { kind: "none" } as Sandbox;

/** Faults of a server's own say whose they are. */
async function named<Value>(name: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (isFault(error)) throw new Fault(error.code, `MCP server ${name}: ${error.message}`, { cause: error });
    throw error;
  }
}

const none: McpSettings = { servers: {}, approveFirst: false };

export function mcpServers(options: McpServersOptions): McpServers {
  const { cells, clock, ids, log } = options;
  const pins = pinStore(cells);
  const files = credentialFiles(options.loginFolder, clock, options.hide);
  const access = logins(files, renewalLock(cells, clock), clock, ids);
  const running = runningServers(options, pins, access, () => current.approveFirst);
  let current = none;

  function settingsOf(name: string): ServerSettings {
    const settings = Object.hasOwn(current.servers, name) ? current.servers[name] : undefined;
    if (settings === undefined)
      throw new Fault("missing", `there is no MCP server "${name}" in the config (mcp.servers)`);
    return settings;
  }

  /** What is pinned of a server; one of which nothing is known is started first. */
  async function known(name: string, settings: ServerSettings, place: Sandbox | null): Promise<Pins> {
    const identity = identityOf(settings);
    const there = await pins.get(name);
    if (there !== null && there.identity === identity) return there;
    await running.at(name, settings, place).ready();
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
    const here = running.at(name, settings, place);
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

  async function shown(name: string): Promise<ServerView> {
    return viewOf(name, settingsOf(name), await pins.get(name), running.find(name)?.state());
  }

  /** Starts it where it does not run, lists its tools, and returns what is known then. */
  async function looked(name: string): Promise<ServerView> {
    const settings = settingsOf(name);
    if (!settings.enabled) throw new Fault("invalid", `mcp.servers.${name}.enabled is false`);
    const here = running.find(name) ?? running.at(name, settings, onHost);
    here.forgive();
    await named(name, () => here.refresh());
    return shown(name);
  }

  function targetOf(name: string): LoginTarget {
    const settings = settingsOf(name);
    const { url, oauth, headers } = settings;
    if (url === undefined)
      throw new Fault("invalid", `${name} is a program of this machine: nobody logs in to it`);
    if (hasKey(headers))
      throw new Fault("invalid", `mcp.servers.${name}.headers says who we are: take Authorization out first`);
    return { server: name, url, settings: oauth };
  }

  return {
    use(settings) {
      current = settings;
      // Tokens of earlier runs are hidden before the first call, since an agent may come upon the file.
      for (const [name, { url }] of Object.entries(settings.servers))
        if (url !== undefined)
          files
            .get(name, url)
            .catch((error: unknown) => log.warn({ server: name, error }, "a login cannot be read"));
      void running.end(({ name, connection }) => {
        const now = Object.hasOwn(settings.servers, name) ? settings.servers[name] : undefined;
        return now?.enabled === true && connectionOf(now) === connection;
      });
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
    list: () => Promise.all(Object.keys(current.servers).toSorted().map(shown)),
    test: looked,
    async approve(name, code) {
      settingsOf(name);
      const { tools } = await pins.approve(name, code);
      log.info({ server: name, tools }, "tools of an MCP server were approved");
      return { tools };
    },
    async forget(name) {
      const wasLoggedIn = await access.logout(name);
      const wasKnown = await pins.forget(name);
      // One that runs was let in by what is gone, and would not be listed again.
      await running.end((each) => each.name !== name);
      return wasKnown || wasLoggedIn;
    },
    async login(name, redirectUrl) {
      const target = targetOf(name);
      const { timeoutMs } = settingsOf(name);
      const { guardedFetch } = await import("./guarded-fetch.ts");
      const rules = await options.rules();
      const { refused } = options;
      const open = async () =>
        guardedFetch({ url: target.url, rules, refused, timeoutMs, streams: false, clock });
      return named(name, () => access.start(target, redirectUrl, open));
    },
    async finishLogin(name, answer) {
      settingsOf(name);
      await named(name, () => access.finish(name, answer));
      return looked(name);
    },
    async logout(name) {
      settingsOf(name);
      const was = await access.logout(name);
      // What runs was let in by what is gone.
      await running.end((each) => each.name !== name);
      return was;
    },
    close: () => running.end(() => false),
  };
}
