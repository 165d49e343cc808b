// The forward proxy is egress for programs that dial themselves: a browser asks it for every connection,
// also for redirects, sockets and pictures, and it judges the address that it dials as the dialler does. It
// listens on loopback only and serves who knows its password, or on a socket in a folder that nobody else may
// enter, so it is nobody else's way out.
import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { Fault, isFault, type Clock, type Ids } from "@parley/protocol";
import { addressGuard, bareHost, type AddressRules, type Refused } from "./address-rules.ts";
import type { Refusal } from "./dialler.ts";
import { dialFault, responseHost } from "./dial-fault.ts";
import { pinned, systemResolve, vetted, type Resolve } from "./guarded-connect.ts";

export interface ForwardProxyOptions {
  readonly clock: Clock;
  /** Make the password. */
  readonly ids: Pick<Ids, "uuid">;
  /** Of this moment: a connection is judged by them when it begins. */
  readonly rules: () => AddressRules;
  readonly resolve?: Resolve;
  readonly refused?: (refusal: Refusal) => void;
  /** A socket of the file system, for who is let to it; absent: loopback, with a password. */
  readonly socketPath?: string;
  readonly limits?: { readonly connections: number; readonly idleMs: number; readonly connectMs: number };
}

export interface ForwardProxy {
  /** `http://127.0.0.1:<port>`; of no use where there is a socket. */
  readonly url: string;
  readonly username: string;
  readonly password: string;
  close(): Promise<void>;
}

const defaults = { connections: 256, idleMs: 120_000, connectMs: 10_000 };
/** Headers of this connection, which end here. */
const ofThisHop = [
  "proxy-authorization",
  "proxy-connection",
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "upgrade",
];

export async function forwardProxy(options: ForwardProxyOptions): Promise<ForwardProxy> {
  const { clock, ids, rules, resolve = systemResolve, limits = defaults, socketPath } = options;
  const username = "parley";
  const password = ids.uuid();
  const expected = Buffer.from(`Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`);
  const sockets = new Set<Socket>();

  const refuse = (host: string, { reason, says }: Refused): Fault => {
    options.refused?.({ host, reason });
    return new Fault("denied", `${responseHost(host)} ${says}`);
  };

  const isKnown = ({ headers }: IncomingMessage): boolean => {
    if (socketPath !== undefined) return true;
    const given = Buffer.from(headers["proxy-authorization"] ?? "");
    return given.length === expected.length && timingSafeEqual(given, expected);
  };

  /** A judged address of the host, and what a socket needs to dial it. Throws Fault. */
  async function judged(address: string) {
    const guard = addressGuard(rules());
    const decision = guard.judgeUrl(address);
    if (!decision.allowed) throw refuse(decision.host, decision);
    const { url } = decision;
    const host = bareHost(url.hostname);
    const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
    const addresses = await vetted({ guard, resolve, refuse }, host, port);
    const check = (socket: Socket): void => {
      const last = guard.judgeAddress(host, socket.remoteAddress ?? "", port);
      if (!last.allowed) socket.destroy(refuse(host, last));
    };
    return { url, host, port, lookup: pinned(addresses), check };
  }

  /** Keeps count of a socket, and ends one through which nothing goes. */
  function watched(socket: Socket): void {
    sockets.add(socket);
    socket.setTimeout(limits.idleMs, () => socket.destroy());
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  }

  const server = createServer({ maxHeaderSize: 65_536 }, (request, response) => {
    void plain(request, response).catch((error: unknown) => answerFault(response, error));
  });
  server.maxConnections = limits.connections;
  server.on("connection", watched);

  async function plain(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isKnown(request)) return askForPassword(response);
    const { url, port, lookup, check } = await judged(request.url ?? "");
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(([name]) => !ofThisHop.includes(name)),
    );
    const onward = httpRequest({
      host: bareHost(url.hostname),
      port,
      lookup,
      agent: false,
      method: request.method ?? "GET",
      path: url.pathname + url.search,
      headers: { ...headers, host: url.host },
    });
    const timer = clock.after(limits.connectMs, () => onward.destroy(timeout(url)));
    onward.on("socket", (socket) => {
      watched(socket);
      socket.once("connect", () => {
        timer.cancel();
        check(socket);
      });
    });
    onward.on("response", (answer) => {
      const kept = Object.entries(answer.headers).filter(([name]) => !ofThisHop.includes(name));
      response.writeHead(answer.statusCode ?? 502, Object.fromEntries(kept));
      answer.on("error", () => response.destroy());
      answer.pipe(response);
    });
    onward.on("error", (error) => {
      timer.cancel();
      if (response.headersSent) response.destroy();
      else answerFault(response, faultOf(error, url));
    });
    response.on("close", () => onward.destroy());
    request.pipe(onward);
  }

  server.on("connect", (request: IncomingMessage, client: Socket, head: Buffer) => {
    if (!isKnown(request))
      return client.end(
        'HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm="parley"\r\nconnection: close\r\n\r\n',
      );
    tunnel(request.url ?? "", client, head).catch((error: unknown) => {
      client.end(
        `HTTP/1.1 ${isFault(error, "denied") ? "403 Forbidden" : "502 Bad Gateway"}\r\nconnection: close\r\ncontent-type: text/plain; charset=utf-8\r\n\r\n${told(error)}`,
      );
    });
  });

  async function tunnel(authority: string, client: Socket, head: Buffer): Promise<void> {
    // A tunnel to port 80 carries a web socket.
    const { url, host, port, lookup, check } = await judged(
      `${authority.endsWith(":80") ? "http" : "https"}://${authority}/`,
    );
    const far = connect({ host, port, lookup, autoSelectFamily: true });
    watched(far);
    const timer = clock.after(limits.connectMs, () => far.destroy(timeout(url)));
    try {
      await once(far, "connect");
    } catch (error) {
      throw faultOf(error, url);
    } finally {
      timer.cancel();
    }
    check(far);
    if (far.destroyed) throw new Fault("denied", `${url.hostname} has a closed address`);
    client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    if (head.length > 0) far.write(head);
    far.pipe(client);
    client.pipe(far);
    far.on("close", () => client.destroy());
    client.on("close", () => far.destroy());
  }

  if (socketPath === undefined) server.listen(0, "127.0.0.1");
  else server.listen(socketPath);
  await once(server, "listening");
  server.unref();
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    username,
    password,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}

const timeout = (url: URL): Fault =>
  new Fault("unavailable", `${url.hostname} did not accept a connection in time`);

const faultOf = (error: unknown, url: URL): Fault =>
  dialFault(error, { url, method: "GET", headers: {}, body: undefined }, new AbortController().signal);

function askForPassword(response: ServerResponse): void {
  response.writeHead(407, { "proxy-authenticate": 'Basic realm="parley"' }).end();
}

function answerFault(response: ServerResponse, error: unknown): void {
  const status = isFault(error, "denied") ? 403 : 502;
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(told(error));
}

const told = (error: unknown): string =>
  `Parley: ${isFault(error) ? error.message : "the address cannot be opened"}.\n`;
