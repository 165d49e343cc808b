// The control plane: one port for the web page, its WebSocket, the CLI and health checks. Refuses before the upgrade what it can refuse:
// strange hosts, pages of other sites, too many connections. Closing tells every client, and they resume by seq (I5, I9).
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import { WebSocketServer } from "ws";
import { Fault, scopes, type Clock, type Ids, type Log, type Scope } from "@parley/protocol";
import type { Events } from "@parley/store";
import { loginAttempts } from "./attempts.ts";
import { authenticator } from "./authenticate.ts";
import { preAuthBytes, serveConnection, type Connection } from "./connection.ts";
import { deviceBook, type AuthStore } from "./devices.ts";
import { dispatcher, type Handlers } from "./dispatch.ts";
import { originTrouble, type HostRules } from "./hosts.ts";
import { httpApp } from "./http.ts";
import type { Hub } from "./hub.ts";
import { onceByKey, type KeyStore } from "./idempotency.ts";

export interface ControlServerOptions {
  /** An address to listen on; `listenAddress(config.gateway.bind)`. */
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly allowedHosts: readonly string[];
  /** The gateway's token; it has every scope. */
  readonly token: string;
  /** `store.cells`: devices, login codes, idempotency keys. */
  readonly cells: AuthStore & KeyStore;
  /** `store.events`. */
  readonly events: Pick<Events, "after">;
  readonly hub: Hub;
  readonly handlers: Handlers;
  readonly health: () => { readonly ok: boolean };
  /** The built web page; null serves none. */
  readonly webRoot: string | null;
  readonly webAccount: string;
  readonly version: string;
  readonly bootId: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export interface ControlServer {
  readonly port: number;
  /** `http://127.0.0.1:7275/`. */
  readonly url: string;
  /** A link that logs a browser in once, within ten minutes. The code stands in the fragment, which no server sees. */
  loginUrl(granted?: readonly Scope[]): Promise<string>;
  connections(): number;
  /** Tells the clients, lets their requests end, closes everything. Idempotent. */
  close(): Promise<void>;
}

/** A chat message of 200,000 characters, each escaped as \uXXXX, fits. */
const mostFrameBytes = 2_097_152;
const mostConnections = 512;
const mostPerAddress = 64;
const drainMs = 3_000;

/** Throws Fault("unavailable") when the port is taken or may not be used. */
export async function controlServer(options: ControlServerOptions): Promise<ControlServer> {
  const { clock, ids, log, cells } = options;
  const hosts: HostRules = { listenHost: options.host, allowedHosts: options.allowedHosts };
  const devices = deviceBook(cells, clock, ids);
  const authenticate = authenticator({ token: options.token, devices, attempts: loginAttempts(clock) });
  const dispatch = dispatcher({ handlers: options.handlers, once: onceByKey(cells), ids, log });
  const app = httpApp({ hosts, health: options.health, webRoot: options.webRoot });
  const http = createServer({ headersTimeout: 10_000, requestTimeout: 30_000 }, getRequestListener(app.fetch));
  const sockets = new WebSocketServer({ noServer: true, maxPayload: mostFrameBytes, perMessageDeflate: false });
  const open = new Map<Connection, string>();
  let closing: Promise<void> | null = null;

  http.on("upgrade", (request, stream, head) => {
    const address = request.socket.remoteAddress ?? "unknown";
    stream.on("error", (error) => log.debug({ error }, "a client's socket failed"));
    const refusal = refusalOf(request, address);
    if (refusal !== null) return refuse(stream, refusal);
    limitUntilAuthenticated(stream);
    sockets.handleUpgrade(request, stream, head, (socket) => {
      const connection = serveConnection(socket, address, {
        server: { version: options.version, bootId: options.bootId },
        authenticate,
        dispatch,
        events: options.events,
        hub: options.hub,
        webAccount: options.webAccount,
        onAuthenticated: () => stream.removeAllListeners(preAuth),
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
    if (trouble !== null) return { status: "403 Forbidden", text: trouble };
    if (request.url !== "/ws") return { status: "404 Not Found", text: "the WebSocket is at /ws" };
    if (closing !== null) return { status: "503 Service Unavailable", text: "the gateway is stopping" };
    const fromAddress = [...open.values()].filter((each) => each === address).length;
    const full = open.size >= mostConnections || fromAddress >= mostPerAddress;
    return full ? { status: "503 Service Unavailable", text: "too many connections" } : null;
  }
}
