// Implements `--once`: serves the operator's methods while no daemon runs. It speaks the socket's frames, one
// a line on standard input and output; it starts no channels, lanes or listeners and ends with standard
// input. It asks for no token, because its caller already has write access to the state folder.
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import {
  configEditor,
  ConfigFault,
  fileFault,
  loadBlocks,
  loadConfig,
  secretValues,
  type LoadedConfig,
} from "@parley/config";
import {
  type MethodNeeds,
  methods,
  protocolRange,
  scopes,
  type Clock,
  type ConnectResult,
  type Ids,
  type ResponseFrame,
  version,
} from "@parley/protocol";
import { memoryProcess } from "@parley/memory";
import type { Store } from "@parley/store";
import {
  type Caller,
  connectedClients,
  deviceStore,
  dispatcher,
  type Handlers,
  readFrame,
} from "@parley/control";
import { noRefusals } from "@parley/access";
import { readNodeRegistry } from "@parley/cluster";
import { auditLog } from "../audit/audit-log.ts";
import { logger } from "../log/logger.ts";
import type { MessagePath } from "../message-path.ts";
import { jobNamed } from "../operator/schedules.ts";
import { configHandlers, storeHandlers } from "../operator/table.ts";
import { wireHooks, wireSkills } from "../wiring/wiring.ts";
import { wireModels } from "../wiring/models.ts";
import { worldOfConfig } from "./world-of-config.ts";
import { wireDevices } from "../devices/wire-devices.ts";
import { stoppedHome } from "./stopped-home.ts";
import { notRunning, stoppedPath } from "./stopped-path.ts";

export interface OnceConfig extends LoadedConfig {
  /**
   * Errors of the config file, of which `config` then holds only the location of the records. Null when it is
   * valid.
   */
  readonly trouble: ConfigFault | null;
}

export interface OnceOptions extends OnceConfig {
  readonly input: Readable;
  readonly output: Writable;
  readonly env: { readonly [name: string]: string | undefined };
  readonly clock: Clock;
  readonly ids: Ids;
}

const operator: Caller = {
  peer: "web-operator",
  scopes,
  client: { name: "once", version },
  device: null,
  address: "local",
};

/**
 * A broken file does not lock an operator out of the records. Throws ConfigFault when their location is
 * unknown.
 */
export async function onceConfig(env: OnceOptions["env"]): Promise<OnceConfig> {
  try {
    return { ...(await loadConfig({ env })), trouble: null };
  } catch (error) {
    const records = error instanceof ConfigFault ? await loadBlocks(env, ["store"]) : null;
    if (!(error instanceof ConfigFault) || records === null) throw error;
    return { ...records, trouble: error };
  }
}

/**
 * Answers every line. Resolves when the input has ended and everything is closed; throws ConfigFault at the
 * first method that needs a config which is broken.
 */
export async function runOnce({
  input,
  output,
  env,
  clock,
  ids,
  config,
  path: configPath,
  places,
  trouble,
}: OnceOptions): Promise<void> {
  const bootId = ids.uuid();
  const { log } = await logger({ level: "warn", pretty: false, secrets: secretValues(config) });
  const home = stoppedHome({ config, home: places.home, bootId, clock, ids, log });
  const configNow = (): LoadedConfig["config"] => config;
  const models = wireModels(config, join(places.home, "media"), clock, log);
  const memory = memoryProcess({ clock });
  const onConfig = configHandlers({
    configNow,
    models,
    skills: wireSkills(config, places.home, env),
    hooks: wireHooks(config, { home: places.home, configPath, env, clock }),
    hookCounts: null,
    editor: configEditor({ env, home: places.home }),
    restartNeeded: () => [],
    jobNamed: async (id) => jobNamed((await onStore()).schedules, id),
    memory,
    home: places.home,
    clock,
    ids,
  });

  async function worldOn(store: Store): Promise<StoreWorld> {
    const path = await stoppedPath({
      config,
      configPath,
      places,
      env,
      models,
      memory,
      store,
      bootId,
      clock,
      ids,
      log,
    });
    const handlers = storeHandlers({
      ...path,
      configNow,
      memory,
      home: places.home,
      store,
      modelCatalog: path.models,
      listNodes: readNodeRegistry(store.cells, clock),
      devices: deviceStore(store.cells, clock, ids),
      clients: connectedClients(),
      deviceCalls: wireDevices({ hub: { isFollowed: () => false }, clock, ids, log }, store),
      worldOf: worldOfConfig({ places, env, memory, store, bootId, clock, ids, log }),
      log,
      clock,
      ids,
    });
    return { on: store, handlers, schedules: path.schedules };
  }

  // `restore` closes the store; the next request opens another one, which needs new handlers.
  let made: StoreWorld | null = null;
  async function onStore(): Promise<StoreWorld> {
    const store = await home.store();
    if (made?.on !== store) made = await worldOn(store);
    return made;
  }

  const audit = auditLog(places.home, clock);
  const dispatch = dispatcher({
    handlers: handlersWithoutDaemon(
      { ...onConfig, backup: home.backup, restore: home.restore },
      async () => (await onStore()).handlers,
    ),
    ownsSession: () => false,
    once: (_request, run) => run(),
    audit: audit.write,
    refusals: noRefusals,
    clock,
    ids,
    log,
  });
  const welcome: ConnectResult = {
    protocol: protocolRange.max,
    server: { version, bootId },
    scopes: [...scopes],
    peer: operator.peer,
    seq: 0,
    resync: false,
  };

  async function answer(line: string): Promise<ResponseFrame> {
    const frame = readFrame(line);
    if (!frame.ok)
      return {
        type: "res",
        id: frame.id ?? "",
        ok: false,
        error: { code: "invalid", message: frame.reason },
      };
    if (frame.request.method === "connect")
      return { type: "res", id: frame.request.id, ok: true, payload: welcome };
    if (trouble !== null && !worksOnBrokenConfig(frame.request.method)) throw trouble;
    return dispatch(frame.request, operator);
  }

  try {
    for await (const line of createInterface({ input }))
      output.write(`${JSON.stringify(await answer(line))}\n`);
  } finally {
    memory.close();
    audit.close();
    await home.close();
  }
}

type StoreHandlers = ReturnType<typeof storeHandlers>;
interface StoreWorld extends Pick<MessagePath, "schedules"> {
  readonly on: Store;
  readonly handlers: StoreHandlers;
}
type ClosedStoreHandlers = ReturnType<typeof configHandlers> & Pick<Handlers, "backup" | "restore">;

/** `onStore` opens the store when it is first needed. */
function handlersWithoutDaemon(closed: ClosedStoreHandlers, onStore: () => Promise<StoreHandlers>): Handlers {
  type Handle = (params: unknown, caller: Caller) => Promise<unknown>;
  /** No log of a daemon has what a disk refuses: whoever asked is told. */
  const inWords =
    (handle: Handle): Handle =>
    async (params, caller) => {
      try {
        return await handle(params, caller);
      } catch (error) {
        throw fileFault(error) ?? error;
      }
    };
  const handlerOf = (method: string, needs: MethodNeeds): Handle => {
    switch (needs) {
      case "daemon":
        return notRunning;
      case "config":
      case "database":
        return closed[method as keyof ClosedStoreHandlers] as Handle;
      case "store":
      case "config and store":
        return async (params, caller) =>
          ((await onStore())[method as keyof StoreHandlers] as Handle)(params, caller);
    }
  };
  // Every method of the table has a handler here; TypeScript cannot follow that through `fromEntries`.
  return Object.fromEntries(
    Object.entries(methods).map(([method, { needs }]) => [method, inWords(handlerOf(method, needs))]),
  ) as unknown as Handlers;
}

/** Approving a pairing does not work on a broken config, because the config may name the owners. */
function worksOnBrokenConfig(method: string): boolean {
  const needs = Object.hasOwn(methods, method) ? methods[method as keyof typeof methods].needs : null;
  return needs === "store" || needs === "database";
}
