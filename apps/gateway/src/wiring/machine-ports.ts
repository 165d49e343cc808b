// Builds the tools' ports on this machine: the folders that they may not enter, the environment of commands,
// the running commands, the config file.
import { homedir } from "node:os";
import type { PlaceOf } from "@parley/access";
import type { Config, ConfigEditor } from "@parley/config";
import { forgetting, personFolder, scopeOfPlace, type MemoryEngine } from "@parley/memory";
import type { Clock, Ids, Log } from "@parley/protocol";
import type { Bus } from "@parley/queue";
import type { Store } from "@parley/store";
import { openCommands, workspaceFiles, type Commands } from "@parley/tools";
import type { GatewayMetrics } from "../metrics/gateway-metrics.ts";
import type { Dial } from "../schedules/call-webhooks.ts";
import { idleBrowser, wireBrowser } from "./browser.ts";
import { devicesPort, wireDevices, wirePush } from "../devices/wire-devices.ts";
import type { Hub } from "@parley/control";
import type { DeviceCalls, PushCalls } from "@parley/devices";
import { wireWayOut } from "./way-out.ts";
import { idleDrawing, wireDrawing } from "./drawing.ts";
import { wirePictures } from "./pictures.ts";
import { idleSpeech, wireSpeech } from "./speech.ts";
import { idleWeb, wireWeb } from "./web.ts";
import { selfUpdate, type SelfUpdate } from "../update/self-update.ts";
import { chatRestart, type ChatRestart } from "../commands/decide/restart.ts";
import { commandsOfNodes, type NodePlace } from "@parley/cluster";
import {
  type Restarting,
  allCommandRecords,
  commandRecords,
  agentSettings,
  fileOrigins,
  type FileOrigins,
  type MachinePorts,
  type MediaHandling,
} from "@parley/runner";

export interface MachinePortsWiring {
  readonly config: Pick<Config, "agents" | "browser" | "messages" | "models" | "store" | "tools">;
  /** The config of this moment; a reload changes it. */
  readonly configNow: () => Pick<Config, "agents" | "browser" | "gateway" | "messages" | "models" | "tools">;
  /** Where recordings are kept, and what turns them into words by the config of this moment. */
  readonly sounds: () => Pick<MediaHandling, "folder" | "transcribe">;
  readonly metrics: Pick<GatewayMetrics, "egressRefused">;
  readonly home: string;
  /** Its lock proves that the previous process of this node is dead, and says nothing of other nodes. */
  readonly place: Pick<NodePlace, "name">;
  /** Where sessions go on that people handed over. */
  readonly placeOf: PlaceOf;
  readonly bus: Bus;
  readonly hub: Pick<Hub, "isFollowed">;
  readonly mediaPath: string;
  readonly env: { readonly [name: string]: string | undefined };
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly editor: ConfigEditor;
  /** Returns the changed keys that need a restart. */
  readonly restartNeeded: () => readonly string[];
  /** Absent: this process can only be stopped. */
  readonly restarting?: Restarting;
  readonly memory: MemoryEngine;
}

export interface WiredMachinePorts extends MachinePorts {
  readonly exec: NonNullable<MachinePorts["exec"]>;
  readonly chatRestart: ChatRestart;
  readonly selfUpdate: SelfUpdate;
  readonly deviceCalls: DeviceCalls;
  readonly devicePush: PushCalls;
  /** The guarded way out, for the webhooks of jobs. */
  readonly dial: Dial;
  readonly pictures: NonNullable<MachinePorts["pictures"]>;
  /** Ends all commands of this process; the next start tells their sessions. */
  end(): Promise<void>;
}

/**
 * Ends the commands that the previous process left running, and tells the chats that asked for a restart.
 * Call it only while the node's lock is taken.
 */
export async function wireMachinePorts(
  wiring: MachinePortsWiring,
  { cells, inbox, outbox, turns }: Pick<Store, "cells" | "inbox" | "outbox" | "turns">,
): Promise<WiredMachinePorts> {
  const { config, home, place, placeOf, bus, clock, ids, log } = wiring;
  // A database file has one process, whatever its machine is called today. Nodes may share a home, so
  // commands of another node must go on.
  const node = config.store.driver === "sqlite" ? "local" : `${place.name}:${home}`;
  const lines = log.child({ part: "commands" });
  let ending = false;
  const records = commandRecords({ cells, inbox, node, isEnding: () => ending, placeOf, clock, log: lines });
  const filesAt = (root: string) => workspaceFiles({ root, forbidden: [home] }).own;
  const own = await openCommands({ records, onEnd: async () => undefined, clock, ids, log: lines }, filesAt);
  const commands = bus.shared
    ? commandsOfNodes({ own, records: () => allCommandRecords(cells), filesAt, bus, clock, log: lines })
    : own;
  const origins = fileOrigins({ cells, node, clock, ids, log: log.child({ part: "origins" }) });
  // `openCommands` has ended those commands.
  await origins.endLeftovers([home]);
  const updates = selfUpdate({ ...wiring, cells, outbox, node, log: log.child({ part: "update" }) });
  const settings = agentSettings({
    ...wiring,
    update: updates.begin,
    checkUpdate: updates.checkInWords,
    cells,
    inbox,
    node,
    log: log.child({ part: "settings" }),
  });
  await settings.restarted();
  const outward = { ...wiring, log: log.child({ part: "web" }), refused: wiring.metrics.egressRefused };
  const web = wireWeb(outward);
  const speech = wireSpeech({ ...wiring, cells, log: log.child({ part: "speech" }) });
  const pictures = wirePictures(wiring.mediaPath, clock);
  const devicesHere = wireDevices(
    { ...wiring, pictures: pictures.port, sounds: wiring.sounds, log: log.child({ part: "devices" }) },
    { cells, inbox, turns },
  );
  // A device is paired at one node and used by turns on others.
  bus.hear("devices", devicesHere.pairing);
  const deviceCalls: DeviceCalls = {
    ...devicesHere,
    pairing() {
      devicesHere.pairing();
      bus.tell("devices", "");
    },
  };
  // The first prompt already tells of devices, or not.
  await deviceCalls.look();
  const devicePush = wirePush(
    {
      ...wiring,
      calls: deviceCalls,
      dial: web.dial,
      publicUrl: () => wiring.configNow().gateway.publicUrl,
      log: log.child({ part: "devices" }),
    },
    { cells },
  );
  devicePush.begin();
  const browser = wireBrowser({ ...outward, path: searchPath(wiring.env) });
  const wayOut = wireWayOut(outward);
  const restartOfChat = chatRestart({ ...wiring, cells, outbox, node, log: log.child({ part: "restart" }) });
  await restartOfChat.restarted();
  await updates.look((ended) => settings.updated(ended));
  return {
    ...basicPorts(wiring, commands, origins),
    settings,
    web: web.port,
    dial: web.dial,
    browser: browser.port,
    wayOut: wayOut.wayOut,
    pictures: pictures.port,
    renderer: browser.renderer,
    speech: speech.port,
    drawing: wireDrawing({ ...wiring, log: log.child({ part: "images" }) }),
    chatRestart: restartOfChat,
    selfUpdate: updates,
    devices: devicesPort(deviceCalls),
    deviceCalls,
    devicePush,
    async end() {
      ending = true;
      wiring.memory.close();
      await devicePush.stop();
      await Promise.all([
        own.end(),
        web.close(),
        browser.close(),
        wayOut.close(),
        pictures.close(),
        speech.close(),
      ]);
    },
  };
}

/** Builds ports for looking without a daemon: they start nothing. */
export function idleMachinePorts(
  wiring: Pick<MachinePortsWiring, "config" | "home" | "env" | "memory" | "clock" | "ids" | "log">,
  { cells }: Pick<Store, "cells">,
): MachinePorts {
  const refuse = async (): Promise<never> => {
    throw new Error("commands run and the config is changed in the daemon only");
  };
  const commands: Commands = {
    start: refuse,
    list: async () => [],
    get: async () => null,
    forget: refuse,
    boundTo: () => null,
    end: async () => undefined,
  };
  const origins = fileOrigins({ ...wiring, cells, node: "none" });
  return {
    ...basicPorts(wiring, commands, origins),
    web: idleWeb(wiring.config),
    wayOut: async () => ({ socket: "/dev/null", node: process.execPath }),
    pictures: { keep: refuse },
    ...idleBrowser(wiring.config, searchPath(wiring.env)),
    speech: idleSpeech(wiring.config, wiring.env),
    drawing: idleDrawing(wiring.config),
    settings: {
      read: refuse,
      schema: refuse,
      write: refuse,
      restart: refuse,
      checkUpdate: refuse,
      update: refuse,
    },
    devices: { some: () => false, list: refuse, invoke: refuse },
  };
}

const searchPath = (env: MachinePortsWiring["env"]): string => env["PATH"] ?? "/usr/bin:/bin";

function basicPorts(
  { home, env, memory }: Pick<MachinePortsWiring, "home" | "env" | "memory">,
  commands: Commands,
  origins: FileOrigins,
): MachinePorts & Pick<WiredMachinePorts, "exec"> {
  const host = Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  return {
    home,
    userHome: homedir(),
    origins,
    exec: { commands, host: { PATH: "/usr/bin:/bin", ...host } },
    memory: { engine: memory, personFolder, scopeOfPlace, forgetting },
  };
}
