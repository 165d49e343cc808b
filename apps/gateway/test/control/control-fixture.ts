// A control server on a real socket and store, and a client that speaks frames by hand.
import { apiRoutes, type ApiRoutesOptions } from "../../src/api/routes.ts";
import { onTestFinished } from "vitest";
import type { DeviceCalls } from "@parley/devices";
import { wireDevices } from "../../src/devices/wire-devices.ts";
import { WebSocket, type ClientOptions } from "ws";
import {
  conversationKey,
  formatSessionKey,
  methods,
  silentLog,
  systemClock,
  systemIds,
  type Address,
  type Clock,
  type DmScope,
  type EventFrame,
  type Log,
  type ResponseFrame,
} from "@parley/protocol";
import { sqliteStore, type Store } from "@parley/store";
import {
  connectedClients,
  type Clients,
  deviceStore,
  type Devices,
  type Handlers,
  eventHub,
  type Hub,
  controlServer,
  type ControlServer,
  type ControlServerOptions,
} from "@parley/control";
import { router, type RouteInbound, noRefusals, sessionOwnership } from "@parley/access";

/** One agent, nothing bound. */
export function routeOf(dmScope: DmScope): RouteInbound {
  const moved = { first: (address: Address) => address, ids: ({ peer }: Address) => [peer] };
  return router({
    agents: ["main"],
    bindings: [],
    dmScope,
    identityLinks: {},
    rules: () => null,
    moved,
    handedOver: () => null,
  });
}

export const gatewayToken = "the-gateway-token-of-this-test";

export interface Fixture {
  readonly server: ControlServer;
  readonly store: Store;
  readonly hub: Hub;
  readonly devices: Devices;
  readonly deviceCalls: DeviceCalls;
  readonly clients: Clients;
  /** Methods called, with params and peer. */
  readonly calls: { readonly method: string; readonly params: unknown; readonly peer: string }[];
  client(options?: ClientOptions): Promise<Client>;
}

export interface FixtureOptions
  extends
    Partial<
      Pick<
        ControlServerOptions,
        "webRoot" | "port" | "health" | "trustedProxies" | "refusals" | "webhook" | "metrics"
      >
    >,
    Partial<Pick<ApiRoutesOptions, "requests" | "receive" | "agents" | "hooks" | "world" | "counted">> {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly handlers?: Partial<Handlers>;
  readonly eventsKept?: number;
}

export async function startControl(options: FixtureOptions = {}): Promise<Fixture> {
  const clock = options.clock ?? systemClock();
  const log = options.log ?? silentLog;
  const store = await sqliteStore({
    path: ":memory:",
    clock,
    log,
    bootId: "boot",
    onFatal: (error) => {
      throw error;
    },
    ...(options.eventsKept === undefined ? {} : { eventsKept: options.eventsKept }),
  });
  const hub = eventHub();
  const devices = deviceStore(store.cells, clock, systemIds());
  const clients = connectedClients();
  const deviceCalls = wireDevices({ hub, clock, ids: systemIds(), log }, store);
  const calls: Fixture["calls"][number][] = [];
  const server = await controlServer({
    host: "127.0.0.1",
    port: 0,
    allowedHosts: [],
    trustedProxies: [],
    refusals: noRefusals,
    tokens: [gatewayToken],
    devices,
    clients,
    cells: store.cells,
    events: store.events,
    hub,
    health: () => ({ ok: true }),
    webhook: () => null,
    webRoot: null,
    webAccount: "default",
    version: "0.0.0",
    bootId: "boot",
    ids: systemIds(),
    programs: apiRoutes({
      cells: store.cells,
      docsFolder: null,
      receive: options.receive ?? (() => Promise.reject(new Error("no event is expected"))),
      isOpen: () => true,
      requests: options.requests ?? noPrograms,
      agents: options.agents ?? (() => ["main"]),
      hooks: options.hooks ?? (() => hooksConfig()),
      world: options.world ?? noWorld,
      counted: options.counted ?? (() => {}),
      clock,
      ids: systemIds(),
      log,
    }),
    ...options,
    handlers: { ...recording(calls), ...options.handlers },
    ownsSession: sessionOwnership(routeOf("per-channel-peer"), "default"),
    clock,
    log,
  });
  onTestFinished(async () => {
    const closed = server.close();
    // A virtual clock stands still: the graces of closing must pass by hand.
    if ("advance" in clock) await (clock as Clock & { advance(byMs: number): Promise<void> }).advance(60_000);
    await closed;
    await store.close();
  });
  return {
    server,
    store,
    hub,
    devices,
    deviceCalls,
    clients,
    calls,
    client: (with_) => openClient(server, with_),
  };
}

const noPrograms: ApiRoutesOptions["requests"] = {
  ask: () => Promise.reject(new Error("no program is expected")),
  call: () => Promise.reject(new Error("no webhook is expected")),
  tell: () => Promise.reject(new Error("no webhook is expected")),
  answer: () => Promise.reject(new Error("no program is expected")),
  watch: () => () => {},
};

const noWorld: ApiRoutesOptions["world"] = {
  homeOf: async (agent) => ({ session: formatSessionKey({ kind: "main", agent }), place: null }),
  unreachable: async () => "nothing is reached in this test",
  model: async () => null,
};

/** The hooks of a config that says nothing else. */
export function hooksConfig(more: object = {}): ReturnType<ApiRoutesOptions["hooks"]> {
  const empty = {
    enabled: true,
    maxBodyBytes: 1_000,
    allowedSessionKeyPrefixes: ["hook:"],
    sessionRetention: "30d",
  };
  return { ...empty, mappings: [], endpoints: {}, ...more };
}

/**
 * A handler for every method of the table, so that a new one needs nothing here; what a test reads out of an
 * answer it puts in itself.
 */
function recording(calls: Fixture["calls"][number][]): Handlers {
  const record =
    (method: string) =>
    async (params: unknown, { peer }: { readonly peer: string }) => {
      calls.push({ method, params, peer });
      return { ok: true };
    };
  return Object.fromEntries(
    Object.keys(methods).map((method) => [method, record(method)]),
  ) as unknown as Handlers;
}

export interface Client {
  readonly socket: WebSocket;
  readonly events: EventFrame[];
  /** Close code, once closed. */
  readonly closed: Promise<number>;
  send(frame: unknown): void;
  sendText(text: string | Buffer): void;
  /** The answer to the request with this id; rejects when the socket closes first. */
  answer(id: string): Promise<ResponseFrame>;
  request(method: string, params?: unknown): Promise<ResponseFrame>;
  connect(params?: { readonly [key: string]: unknown }): Promise<ResponseFrame>;
}

export const handshake = { protocol: { min: 1, max: 1 }, client: { name: "test", version: "0" } };

async function openClient(server: ControlServer, options?: ClientOptions): Promise<Client> {
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/ws`, options);
  const events: EventFrame[] = [];
  const answers = new Map<string, ResponseFrame>();
  const waiting = new Map<string, { resolve(frame: ResponseFrame): void; reject(error: Error): void }>();
  let requests = 0;
  socket.on("message", (message: Buffer) => {
    const frame = JSON.parse(message.toString("utf8")) as EventFrame | ResponseFrame;
    if (frame.type === "event") return events.push(frame);
    answers.set(frame.id, frame);
    return waiting.get(frame.id)?.resolve(frame);
  });
  const closed = new Promise<number>((resolve) => {
    socket.on("close", (code) => {
      for (const { reject } of waiting.values()) reject(new Error(`closed with ${code}`));
      resolve(code);
    });
  });
  onTestFinished(() => socket.terminate());
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  socket.on("error", () => {});

  const answer = (id: string): Promise<ResponseFrame> => {
    const known = answers.get(id);
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  };
  const request = (method: string, params?: unknown): Promise<ResponseFrame> => {
    const id = `r${(requests += 1)}`;
    socket.send(JSON.stringify({ type: "req", id, method, params }));
    return answer(id);
  };
  return {
    socket,
    events,
    closed,
    answer,
    request,
    send: (frame) => socket.send(JSON.stringify(frame)),
    sendText: (text) => socket.send(text),
    connect: (params = {}) => request("connect", { ...handshake, auth: { token: gatewayToken }, ...params }),
  };
}

export function streamOf(peer: string): string {
  return conversationKey({ channel: "web", account: "default", kind: "dm", peer });
}

/** Waits for real sockets: asks again until it holds. The test's own time limit ends it. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise<void>((resolve) => setTimeout(resolve, 2));
}
