// Servers for a test: the hub over cells in memory, with real processes of the testkit's server.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AddressRules, Refusal } from "@parley/egress";
import { Fault, systemClock, systemIds, type Log } from "@parley/protocol";
import { fakeMcp, type FakeMcp } from "@parley/testkit";
import type { Sandbox, Tool, ToolResult, ToolScope } from "@parley/tools";
import { onTestFinished } from "vitest";
import {
  mcpServers,
  type McpServers,
  type McpSettings,
  type ServerSettings,
  type Waiting,
} from "../src/index.ts";

const quiet: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => quiet,
} as Log;

export const onHost = { kind: "none" } as Sandbox;

export const plain: ServerSettings = {
  enabled: true,
  args: [],
  env: {},
  headers: {},
  oauth: {},
  transport: "stdio",
  timeoutMs: 20_000,
  startTimeoutMs: 20_000,
  idleMs: 0,
  tools: {},
  sandbox: "auto",
};

export interface Stage {
  readonly servers: McpServers;
  readonly home: string;
  readonly cells: Cells;
  /** The folder of what logins gave. */
  readonly logins: string;
  /** The server "fake". */
  readonly fake: FakeMcp;
  readonly told: { readonly server: string; readonly tools: readonly Waiting[]; readonly code: string }[];
  /** Takes up servers beside "fake", whose settings `own` changes. */
  use(own?: Partial<ServerSettings>, others?: McpSettings["servers"], approveFirst?: boolean): McpSettings;
  tools(settings: McpSettings): Promise<readonly Tool[]>;
  call(settings: McpSettings, tool: string, args?: object): Promise<ToolResult>;
}

interface StageOptions {
  readonly rules: AddressRules;
  readonly refused: (refusal: Refusal) => void;
  readonly hide: (secrets: readonly string[]) => void;
  readonly log: Log;
  /** Another process of this gateway: the same home, the same store. */
  readonly beside: Stage;
}

type Cells = Map<string, { readonly value: string; readonly version: number }>;

export function stage(behaviour: object = {}, options: Partial<StageOptions> = {}): Stage {
  const folder = options.beside?.home ?? mkdtempSync(join(tmpdir(), "mcp-"));
  const cells: Cells = options.beside?.cells ?? new Map();
  const told: Stage["told"][number][] = [];
  const fake = fakeMcp(join(folder, "fake.json"), behaviour);
  const servers = mcpServers({
    hide: options.hide ?? (() => {}),
    loginFolder: join(folder, "logins"),
    cells: {
      get: async (key) => cells.get(key) ?? null,
      async put(key, value, { expect }) {
        const version = cells.get(key)?.version ?? 0;
        if (expect !== undefined && expect !== version) return null;
        cells.set(key, { value, version: version + 1 });
        return { version: version + 1 };
      },
      touch: async () => true,
      remove: async (key) => cells.delete(key),
    },
    host: { PATH: process.env["PATH"] ?? "", HOME: folder, GATEWAY_TOKEN: "do-not-tell" },
    folder: join(folder, "mcp"),
    keepPicture: async () => ({ path: "kept.png", mediaType: "image/png" }),
    rules: async () => options.rules ?? {},
    refused: options.refused ?? (() => {}),
    mayStart: true,
    onWaiting: (server, tools, code) => told.push({ server, tools, code }),
    clock: systemClock(),
    ids: systemIds(),
    log: options.log ?? quiet,
  });
  onTestFinished(async () => {
    await servers.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const tools = async (settings: McpSettings): Promise<readonly Tool[]> =>
    (await servers.at(settings, onHost)).tools;
  return {
    servers,
    home: folder,
    cells,
    fake,
    told,
    logins: join(folder, "logins"),
    use(own = {}, others = {}, approveFirst = false) {
      const settings = { approveFirst, servers: { fake: { ...plain, ...fake.server, ...own }, ...others } };
      servers.use(settings);
      return settings;
    },
    tools,
    async call(settings, name, args = {}) {
      const tool = (await tools(settings)).find((each) => each.name === name);
      if (tool === undefined) throw new Fault("missing", `there is no ${name}`);
      return tool.run(args, { signal: new AbortController().signal, turn: "t", callId: "c" } as ToolScope);
    },
  };
}

export function textOf({ content }: ToolResult): string {
  return content.map((part) => (part.type === "text" ? part.text : `[${part.path}]`)).join("\n");
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    // Nobody has this number any more.
    return false;
  }
}
