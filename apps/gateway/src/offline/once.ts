// `--once`: the operator's methods while no daemon runs. The same frames as on the socket, one a line on standard input and output; channels
// and lanes are held, nothing listens. Ends when standard input ends. Whoever may write the state folder may do this: no token is asked for.
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import {
  configEditor,
  ConfigFault,
  loadBlocks,
  loadConfig,
  secretValues,
  type LoadedConfig,
} from "@parley/config";
import {
  Fault,
  methods,
  protocolRange,
  scopes,
  type Clock,
  type ConnectResult,
  type Ids,
  type Log,
  type MethodName,
  type MethodParams,
  type MethodResult,
  type ResponseFrame,
  version,
} from "@parley/protocol";
import type { Store } from "@parley/store";
import {
  type Caller,
  connectedClients,
  deviceStore,
  dispatcher,
  type Handlers,
  readFrame,
} from "@parley/control";
import { owners, pairingStore, pairingDecisions, noRefusals } from "@parley/access";
import { logger } from "../log/logger.ts";
import { configMethods } from "../operator/config.ts";
import { agentMethods } from "../operator/agents.ts";
import { deviceMethods } from "../operator/devices.ts";
import { pairingMethods } from "../operator/pairing.ts";
import { sessionMethods } from "../operator/sessions.ts";
import { operateMethods } from "../operator/operate.ts";
import { readNodeRegistry } from "@parley/cluster";
import { modelMethods } from "../operator/models.ts";
import { skillMethods } from "../operator/skills.ts";
import { usageMethods } from "../operator/usage.ts";
import { unreachableChats } from "@parley/delivery";
import { stoppedHome, type StoppedHome } from "./stopped-home.ts";
import { stoppedPrompts } from "./stopped-prompts.ts";
import { spendLimits, modelCatalog, type ModelCatalog, usageLog } from "@parley/runner";
import { wireModels, wireSkills } from "../wiring/wiring.ts";

export interface OnceConfig extends LoadedConfig {
  /** What is wrong with the file; of it stands here only what says where the records are. Null when all is right. */
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

/** A broken file does not keep an operator from the records. Throws ConfigFault when nobody can tell where they are. */
export async function onceConfig(env: OnceOptions["env"]): Promise<OnceConfig> {
  try {
    return { ...(await loadConfig({ env })), trouble: null };
  } catch (error) {
    const records = error instanceof ConfigFault ? await loadBlocks(env, ["store"]) : null;
    if (!(error instanceof ConfigFault) || records === null) throw error;
    return { ...records, trouble: error };
  }
}

/** Answers every line; throws what is wrong with the config when it is needed. Resolves when the input has ended and all is closed. */
export async function runOnce({
  input,
  output,
  env,
  clock,
  ids,
  config,
  path,
  places,
  trouble,
}: OnceOptions): Promise<void> {
  const bootId = ids.uuid();
  const { log } = await logger({ level: "warn", pretty: false, secrets: secretValues(config) });
  const home = stoppedHome({ config, home: places.home, bootId, clock, log });
  const prompts = async (): Promise<Prompts> =>
    stoppedPrompts({ config, configPath: path, places, env, store: await home.store(), clock, ids, log });
  const skills = skillMethods({ config, book: wireSkills(config, places.home, env), clock, ids });
  const asking = modelMethods({
    config,
    models: wireModels(config, join(places.home, "media"), clock, log),
    clock,
  });
  const used = async (params: MethodParams<"usage">): Promise<MethodResult<"usage">> => {
    const book = usageLog((await home.store()).cells, config.agents.defaults.userTimezone, clock);
    return usageMethods({ book, ledger: spendLimits({ config, book, clock, log }), clock }).usage(params);
  };
  const settings = configMethods({
    desk: configEditor({ env, home: places.home }),
    restartNeeded: () => [],
    clock,
  });
  const listed = onOpenedStore(home, listedMethods, ({ sessions, turns, cells }) => ({
    ...sessionMethods({ config, sessions, turns, models: modelChoices(config, clock, log), clock }),
    ...pairingOn(cells, config, clock, ids),
    ...deviceMethods({
      devices: deviceStore(cells, clock, ids),
      clients: connectedClients(),
      loginUrl: notRunning,
      unlock: () => 0,
    }),
  }));
  const alone = { ...skills, ...asking, ...settings, ...agentMethods(config), ...listed, usage: used };
  const handlers = onceHandlers(home, prompts, alone, clock);
  const dispatch = dispatcher({
    handlers,
    ownsSession: () => false,
    once: (_request, run) => run(),
    refusals: noRefusals,
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
    if (trouble !== null && !onRecordsAlone.has(frame.request.method)) throw trouble;
    return dispatch(frame.request, operator);
  }

  try {
    for await (const line of createInterface({ input }))
      output.write(`${JSON.stringify(await answer(line))}\n`);
  } finally {
    await home.close();
  }
}

type Operate = ReturnType<typeof operateMethods>;
type Prompts = Awaited<ReturnType<typeof stoppedPrompts>>;

/** What works on the store alone; everything else needs the daemon. */
const onStore: { readonly [M in keyof Operate]: true } = {
  why: true,
  "outbox.list": true,
  "outbox.retry": true,
  "outbox.drop": true,
  "dead.list": true,
  "dead.retry": true,
  "dead.drop": true,
  "lanes.list": true,
  "nodes.list": true,
};

/** What is done by the records whatever the config says; letting somebody in is not: the config may name the owners. */
const onRecordsAlone: ReadonlySet<string> = new Set<MethodName>([
  ...(Object.keys(onStore) as (keyof Operate)[]),
  "backup",
  "restore",
  "sessions.list",
  "sessions.show",
  "devices.list",
  "devices.revoke",
  "pairing.list",
]);

/** What needs config and workspace besides. */
const onPrompts: { readonly [M in keyof Prompts]: true } = {
  "prompt.show": true,
  "prompt.explain": true,
  "prompt.diff": true,
  "tools.list": true,
  "tools.hold": true,
  "tools.resume": true,
  "approvals.list": true,
  "approvals.resolve": true,
  "approvals.revoke": true,
};

/** What is asked of the store, opened when it is first needed. */
const listedMethods = [
  "sessions.list",
  "sessions.show",
  "sessions.reset",
  "sessions.forget",
  "sessions.patch",
  "devices.list",
  "devices.mint",
  "devices.revoke",
  "pairing.list",
  "pairing.approve",
  "pairing.revoke",
] as const satisfies readonly MethodName[];

function onOpenedStore<M extends MethodName>(
  home: StoppedHome,
  names: readonly M[],
  make: (store: Store) => Pick<Handlers, M>,
): Partial<Handlers> {
  const opened = async (name: M, params: never, caller: Caller): Promise<unknown> =>
    make(await home.store())[name](params, caller);
  return Object.fromEntries(
    names.map((name) => [name, (params: never, caller: Caller) => opened(name, params, caller)]),
  );
}

function pairingOn(cells: Store["cells"], config: LoadedConfig["config"], clock: Clock, ids: Ids) {
  const desk = pairingDecisions(
    pairingStore(cells, clock, ids),
    owners(config.commands.ownerAllowFrom, cells),
  );
  const { list, approve, revoke } = pairingMethods(desk);
  return { "pairing.list": list, "pairing.approve": approve, "pairing.revoke": revoke };
}

function modelChoices(config: LoadedConfig["config"], clock: Clock, log: Log): ModelCatalog {
  const models = wireModels(config, "", clock, log);
  return modelCatalog({ config, declared: models.list, callable: models.get });
}

async function notRunning(): Promise<never> {
  throw new Fault("unavailable", "the gateway is not running. Start it with `parley start`");
}

function onceHandlers(
  home: StoppedHome,
  prompts: () => Promise<Prompts>,
  alone: Partial<Handlers>,
  clock: Clock,
): Handlers {
  const onOpenStore = (method: keyof Operate) => async (params: never) => {
    const store = await home.store();
    return operateMethods({
      store,
      closed: unreachableChats(store.cells),
      listNodes: readNodeRegistry(store.cells, clock),
      clock,
    })[method](params);
  };
  return {
    ...Object.fromEntries(Object.keys(methods).map((method) => [method, notRunning])),
    ...Object.fromEntries(
      Object.keys(onStore).map((method) => [method, onOpenStore(method as keyof Operate)]),
    ),
    ...Object.fromEntries(
      Object.keys(onPrompts).map((method) => [
        method,
        async (params: never, caller: Caller) => (await prompts())[method as keyof Prompts](params, caller),
      ]),
    ),
    ...alone,
    backup: home.backup,
    restore: home.restore,
    // The first spread names every method of the table; TypeScript does not see that.
  } as unknown as Handlers;
}
