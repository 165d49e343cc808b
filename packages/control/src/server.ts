// Runs the control plane: one port for the web page, its WebSocket, the CLI and health checks. It refuses
// before the upgrade what it can: foreign hosts, pages of other sites, too many connections. Closing tells
// every client, and they resume by seq (I5, I9).
import { createServer, type IncomingMessage } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { WebhookHandler } from "@parley/channels";
import { WebSocketServer, type WebSocket } from "ws";
import {
  controlPath,
  frameBytes,
  scopes,
  sleep,
  type Clock,
  type Ids,
  type Log,
  type Scope,
} from "@parley/protocol";
import type { Events } from "@parley/store";
import type { Refusals, OwnsSession } from "@parley/access";
import { wrongAttempts, type Attempts } from "./auth/login-attempts.ts";
import { authenticator } from "./auth/authenticate.ts";
import { bearerCaller, pathOf, type CallerOf } from "./auth/bearer.ts";
import { serveConnection, type Connection } from "./connection.ts";
import { boundConnections } from "./connection-limit.ts";
import type { Clients } from "./connected-clients.ts";
import type { Devices } from "./auth/devices.ts";
import type { WriteAudit } from "./audited.ts";
import { dispatcher, type Dispatch, type Handlers } from "./dispatch.ts";
import { inTurn } from "./in-turn.ts";
import { listen, urlHost } from "./listen.ts";
import { limitBytes, refuse, wantsWebSocket, type Refusal } from "./upgrade.ts";
import { originTrouble, type HostRules } from "./auth/allowed-hosts.ts";
import { httpApp, type MetricsPage, type ProgramRoutes } from "./http.ts";
import type { Hub } from "./event-hub.ts";
import { isProxy, remoteOf, type RemoteOf } from "./auth/remote-address.ts";
import { whileKnown, type WhileKnown } from "./auth/while-known.ts";
import { onceByKey, type KeyStore } from "./idempotency.ts";

export interface ControlServerOptions {
  /** The listening address, `listenAddress(config.gateway.bind)`. */
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly allowedHosts: readonly string[];
  /** Addresses and networks whose X-Forwarded-For header is trusted. */
  readonly trustedProxies: readonly string[];
  readonly refusals: Refusals;
  /** Tokens of the gateway itself; each has every scope. */
  readonly tokens: readonly string[];
  readonly devices: Devices;
  readonly clients: Clients;
  /** `store.cells`, which keeps idempotency keys. */
  readonly cells: KeyStore;
  /** `store.events`. */
  readonly events: Pick<Events, "after">;
  readonly hub: Hub;
  readonly handlers: Handlers;
  /** Absent: nothing is recorded. */
  readonly audit?: WriteAudit | undefined;
  readonly ownsSession: OwnsSession;
  readonly health: () => { readonly ok: boolean };
  /** Returns the handler of POST /telegram/<account>; null where the account has no webhook. */
  readonly webhook: (account: string) => WebhookHandler | null;
  /** Makes the routes that programs call, given what this server knows of callers. */
  readonly programs: (callers: ApiCallers) => ProgramRoutes;
  /** Folder of the built web page; null serves none. */
  readonly webRoot: string | null;
  /** The /metrics page, and whether programs of this machine need no token for it; absent: no page. */
  readonly metrics?: Omit<MetricsPage, "admit">;
  readonly webAccount: string;
  readonly version: string;
  readonly bootId: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** What the server knows of callers over plain HTTP. */
export interface ApiCallers {
  readonly callerOf: CallerOf;
  /** Answers a request of the control plane, with every check that a socket's request meets. */
  readonly dispatch: Dispatch;
  readonly whileKnown: WhileKnown;
  readonly attempts: Attempts;
  readonly remoteOf: RemoteOf;
  readonly refusals: Refusals;
  /** Aborted when the gateway closes. */
  readonly closing: AbortSignal;
}

export interface ControlServer {
  readonly port: number;
  /** For example `http://127.0.0.1:7275/`. */
  readonly url: string;
  /**
   * Returns a link that logs a browser in once, within ten minutes. The code is in the fragment, which no
   * server sees.
   */
  loginUrl(granted?: readonly Scope[]): Promise<string>;
  connections(): number;
  /** Forgets earlier wrong credentials. Returns how many sources were slowed. */
  unlock(): number;
  /** Tells the clients, lets their requests end, closes everything. Idempotent. */
  close(): Promise<void>;
}

const mostConnections = 512;
/** Clients behind a proxy, and every shell command of this machine, share one address. */
const mostPerAddress = 256;
/** Time for running requests when the gateway stops, and then for clients to answer the close. */
const drainMs = 3_000;
const closeGraceMs = 1_000;
/** Limits for slow requests; Node enforces them only about every half minute. */
const requestLimits = { headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 5_000 };
/** Throws Fault("unavailable") when the port is taken or may not be used. */
export async function controlServer(options: ControlServerOptions): Promise<ControlServer> {
  const { clock, ids, log, cells, devices, clients, refusals } = options;
  const hosts: HostRules = { listenHost: options.host, allowedHosts: options.allowedHosts };
  const from = remoteOf(options.trustedProxies);
  const ending = new AbortController();
  const attempts = wrongAttempts({ refusals, closing: ending.signal, clock });
  const authenticate = authenticator({ tokens: options.tokens, devices, attempts, refusals });
  const callerOf = bearerCaller({ authenticate, remoteOf: from, refusals });
  const { handlers, ownsSession } = options;
  const dispatch = dispatcher({
    handlers,
    ownsSession,
    once: onceByKey(cells),
    audit: options.audit,
    refusals,
    clock,
    ids,
    log,
  });
  const page = options.metrics;
  const metrics: MetricsPage | null =
    page === undefined ? null : { ...page, admit: async (request) => void (await callerOf(request, "read")) };
  const { health, webhook, webRoot } = options;
  const programs = options.programs({
    callerOf,
    dispatch,
    whileKnown: whileKnown({ clients, devices, clock }),
    attempts,
    remoteOf: from,
    refusals,
    closing: ending.signal,
  });
  const app = httpApp({
    metrics,
    hosts,
    health,
    webhook,
    programs,
    webRoot,
    remoteOf: from,
    attempts,
    refusals,
    log,
  });
  const http = createServer(
    { ...requestLimits, shouldUpgradeCallback: wantsWebSocket },
    inTurn(getRequestListener(app.fetch), clock),
  );
  boundConnections(http, { isProxy: isProxy(options.trustedProxies), refusals });
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: frameBytes,
    perMessageDeflate: false,
  });
  const open = new Map<Connection, string>();
  let closing: Promise<void> | null = null;

  http.on("upgrade", (request, stream, head) => {
    const remote = from(request);
    const { address } = remote;
    stream.on("error", (error) => log.debug({ error }, "a client's socket failed"));
    const refusal = refusalOf(request, address);
    if (refusal !== null) {
      const { reason } = refusal;
      if (reason !== null)
        refusals.note(reason, address, { address, origin: remote.origin, path: pathOf(request) });
      return refuse(stream, refusal);
    }
    sockets.handleUpgrade(request, stream, head, (socket) => {
      const release = limitBytes(stream, head.length);
      const connection = serveConnection(socket, remote, {
        server: { version: options.version, bootId: options.bootId },
        authenticate,
        refusals,
        devices,
        clients,
        dispatch,
        events: options.events,
        hub: options.hub,
        webAccount: options.webAccount,
        onAuthenticated: release,
        clock,
        ids,
        log,
      });
      open.set(connection, address);
      socket.once("close", () => open.delete(connection));
    });
  });

  function refusalOf(request: IncomingMessage, address: string): Refusal | null {
    const { host, origin } = request.headers;
    const trouble = originTrouble({ host, origin }, hosts);
    if (trouble !== null) return { status: "403 Forbidden", ...trouble };
    if (request.url !== controlPath)
      return { status: "404 Not Found", reason: "path", text: `the WebSocket is at ${controlPath}` };
    if (closing !== null)
      return { status: "503 Service Unavailable", reason: null, text: "the gateway is stopping" };
    const fromAddress = [...open.values()].filter((each) => each === address).length;
    const full = open.size >= mostConnections || fromAddress >= mostPerAddress;
    return full
      ? { status: "503 Service Unavailable", reason: "too_many_connections", text: "too many connections" }
      : null;
  }

  async function shut(): Promise<void> {
    ending.abort();
    const connections = [...open.keys()];
    // A hanging request must not hold up the daemon: what is left after the grace period is cut, and clients
    // resume.
    await Promise.race([Promise.all(connections.map((each) => each.drain())), sleep(clock, drainMs)]);
    const ended = new Promise<void>((resolve) => http.close(() => resolve()));
    for (const socket of sockets.clients)
      if (socket.readyState === socket.OPEN) socket.close(1012, "the gateway restarts");
    await Promise.race([
      Promise.all([...sockets.clients].map((socket) => closed(socket))),
      sleep(clock, closeGraceMs),
    ]);
    for (const socket of sockets.clients) socket.terminate();
    http.closeAllConnections();
    await ended;
  }

  const port = await listen(http, options.host, options.port);
  const url = `http://${urlHost(options.host)}:${port}/`;
  log.info({ url }, "control plane listens");
  return {
    port,
    url,
    loginUrl: async (granted = scopes) => `${url}#code=${await devices.mintCode(granted)}`,
    connections: () => open.size,
    unlock: attempts.unlock,
    close: () => (closing ??= shut()),
  };
}

function closed(socket: WebSocket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.readyState === socket.CLOSED) resolve();
    else socket.once("close", () => resolve());
  });
}
