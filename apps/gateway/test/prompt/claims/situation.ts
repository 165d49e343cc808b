// One drawn installation, made on disk and set up as the gateway does it, with what is needed to hold its
// prompt against: its tools as they really run, its files, its config as it was written.
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ensureWorkspace } from "@parley/agent";
import { loadConfig, type Config } from "@parley/config";
import { cooldowns, type Model } from "@parley/models";
import {
  silentLog,
  type ConversationKey,
  type Json,
  type JsonObject,
  type SessionKey,
  conversationKey,
} from "@parley/protocol";
import { sqliteStore } from "@parley/store";
import { seededIds, virtualClock } from "@parley/testkit";
import type { Tool } from "@parley/tools";
import { installationFacts, templatesFolder } from "../../../src/installation.ts";
import { accessPolicy, speakersAt, migratedChats, owners, programSinks, type Place } from "@parley/access";
import {
  modelCatalog,
  type ModelCatalog,
  promptHistory,
  turnPreparer,
  effectiveTools,
  childRegistry,
  toolPorts,
  type ToolPortNeeds,
} from "@parley/runner";
import { memoryEngine } from "@parley/memory";
import { idleMachinePorts } from "../../../src/wiring/machine-ports.ts";
import { wireSkills } from "../../../src/wiring/wiring.ts";
import { wireModels } from "../../../src/wiring/models.ts";
import { unopenedChannels } from "../../../src/wiring/channels.ts";
import type { Draw } from "./draw.ts";

export interface Situation {
  readonly draw: Draw;
  readonly prompt: string;
  readonly config: Config;
  readonly home: string;
  readonly workspace: string;
  /** The sandbox that tools really have; undefined: none. */
  readonly access: "none" | "ro" | "rw" | undefined;
  readonly model: Model;
  readonly models: ModelCatalog;
  readonly tools: readonly Tool[];
  /** The rules for commands, as the config has them. */
  readonly exec: Config["tools"]["exec"];
  tool(name: string): Tool | undefined;
  /** What a call answers; a refusal begins with "refused: ". */
  call(tool: string, args: JsonObject): Promise<string>;
  /** Without line numbers and notes of the tool. */
  read(path: string): Promise<string>;
  /** Of the workspace on disk. */
  disk(path: string): Promise<string | null>;
}

function remoteTool(name: string): Tool {
  return {
    name,
    summary: "Does something with notes",
    description: "Does something with notes",
    parameters: { type: "object", properties: {} },
    effect: "sends",
    parse: (args) => ({ ok: true, args }),
    run: async () => ({ content: [] }),
  };
}

/** Written below the folder that tools work in. */
export const probe = { path: "probe.txt", text: "the probe" } as const;

export async function inSituation<T>(draw: Draw, use: (situation: Situation) => Promise<T>): Promise<T> {
  const root = await mkdtemp(join(tmpdir(), "parley-claims-"));
  const clock = virtualClock();
  const store = await sqliteStore({
    path: ":memory:",
    clock,
    log: silentLog,
    bootId: "boot",
    onFatal: () => {},
  });
  try {
    const home = join(root, ".parley");
    const workspace = draw.isAround ? root : join(home, "workspace");
    await filled(draw, workspace, home);
    const file = {
      ...draw.config,
      skills: { load: { extraDirs: [join(workspace, "more"), join(root, "shared")] } },
    } as JsonObject;
    const agents = file["agents"] as { readonly defaults: JsonObject };
    const whole = { ...file, agents: { defaults: { ...agents.defaults, workspace } } };
    const { config } = await loadConfig({ env: {}, home, readFile: async () => JSON.stringify(whole) });
    if (draw.paired !== null) await owners([], store.cells).claimFirst(draw.paired);

    const env = { PATH: "/usr/bin:/bin" };
    const ids = seededIds(1);
    const models = wireModels(config, home, clock, silentLog);
    const memory = memoryEngine({ clock });
    const machinePorts = idleMachinePorts({ config, home, env, memory, clock, ids, log: silentLog }, store);
    const desk = { shown: {}, value: {}, hash: "h" };
    const settings = {
      read: async () => desk,
      schema: async (): Promise<Json> => ({ type: "string" }),
      write: async () => ({ restart: false }),
      restart: async () => {},
      checkUpdate: async () => "",
      update: async () => {},
    };
    const remote = {
      at: async () => ({ tools: ["notes__find", "notes__keep"].map(remoteTool), unavailable: [] }),
    };
    const skills = wireSkills(config, home, env, machinePorts.origins);
    const installation = await installationFacts(config, home, "/bin/sh", ids);
    const book = modelCatalog(config, models);
    const moved = migratedChats(store.cells);
    const policy = accessPolicy(config.channels, moved);
    const known = owners(config.commands.ownerAllowFrom, store.cells);
    const channels = unopenedChannels(config);
    // Without what only a running turn uses.
    const services = {
      ...store,
      children: childRegistry(store.cells),
      config,
      models,
      cooldowns: cooldowns(clock),
      moreTools: [],
      toolHooks: { watched: (tool: Tool) => tool },
      approvals: { book: { grants: async () => [], get: async () => null } },
      speakers: speakersAt(known),
      owners: known.all,
      channel: (account: string) => channels.get(account) ?? programSinks.get(account) ?? null,
      rules: (place: Place) => policy(place.address)?.rules(place) ?? null,
      hooks: [],
      installation,
      prompts: promptHistory(store.cells, clock),
      stableMoves: new Map<string, number>(),
      skills,
      origins: machinePorts.origins,
      speech: machinePorts.speech,
      clock,
      ids,
      log: silentLog,
    } as unknown as ToolPortNeeds;
    const tools = effectiveTools(services, { ...machinePorts, settings, remote }, toolPorts(services));
    const ready = turnPreparer({ ...services, tools });
    const key = draw.session as SessionKey;
    const session = await store.sessions.patch(key, draw.fields);
    const by = { owner: draw.isOwner, senders: ["telegram:7"] };
    const place = draw.address === null ? null : { address: draw.address };
    const { compiled, model, here } = await ready.prompt({ agent: "main", session, place, by });
    await writeFile(join(here.files.own.root, probe.path), probe.text);

    const scope = {
      session: key,
      agent: "main",
      turn: "t",
      callId: "c",
      conversation:
        draw.address === null ? ("telegram:default:dm:7" as ConversationKey) : conversationKey(draw.address),
      by,
      authority: "member",
      workspace,
      env: {},
      signal: new AbortController().signal,
    };
    const tool = (name: string): Tool | undefined => here.tools.find((each) => each.name === name);
    const call = async (name: string, args: JsonObject): Promise<string> => {
      const found = tool(name);
      if (found === undefined) return "refused: no such tool";
      const parsed = found.parse(args);
      if (!parsed.ok) return `refused: ${parsed.reason}`;
      try {
        const { content, isError } = await found.run(parsed.args, scope);
        return (
          (isError === true ? "refused: " : "") +
          content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")
        );
      } catch (error) {
        return `refused: ${String(error)}`;
      }
    };
    return await use({
      draw,
      prompt: compiled.text,
      config,
      home,
      workspace,
      access: here.sandbox?.access,
      model,
      models: book,
      tools: here.tools,
      exec: config.tools.exec,
      tool,
      call,
      read: async (path) => (await call("read", { path })).replaceAll(/^\d+\t/gm, ""),
      disk: (path) => readFile(join(workspace, path), "utf8").catch(() => null),
    });
  } finally {
    await store.close();
    await rm(root, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function filled({ files, removed, isRepo }: Draw, workspace: string, home: string): Promise<void> {
  await mkdir(home, { recursive: true });
  await ensureWorkspace(workspace, templatesFolder);
  for (const name of removed) await rm(join(workspace, name), { force: true });
  if (isRepo) await mkdir(join(workspace, ".git"));
  const managed = { "skills/four/SKILL.md": "---\nname: four\ndescription: Does four.\n---\nDo four.\n" };
  for (const [folder, all] of [
    [workspace, files],
    [home, managed],
  ] as const) {
    for (const [path, text] of Object.entries(all)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
  }
}
