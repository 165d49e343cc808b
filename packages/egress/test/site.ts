// Starts servers on 127.0.0.1 under names that only the test's resolver knows.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTcpServer, type Server, type Socket } from "node:net";
import { once } from "node:events";
import { systemClock } from "@parley/protocol";
import { afterEach } from "vitest";
import { dialler, type Dialler, type DiallerOptions, type Refusal } from "../src/dialler.ts";

export interface Site {
  readonly port: number;
  /** `http://<host>:<port>` */
  readonly at: (host: string) => string;
  readonly seen: IncomingMessage[];
}

const closings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0)) await close();
});
export const afterTest = (close: () => Promise<unknown>): void => void closings.push(close);

async function listening(server: Server, seen: IncomingMessage[]): Promise<Site> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  afterTest(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((done) => server.close(done));
  });
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  return { port, at: (host) => `http://${host}:${port}`, seen };
}

export function site(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Site> {
  const seen: IncomingMessage[] = [];
  return listening(
    createServer((request, response) => {
      seen.push(request);
      answer(request, response);
    }),
    seen,
  );
}

/** For answers that are no HTTP. */
export const rawSite = (answer: (socket: Socket) => void): Promise<Site> =>
  listening(
    createTcpServer((socket) => socket.once("data", () => answer(socket))),
    [],
  );

export interface TestDialler extends Dialler {
  readonly refusals: Refusal[];
  readonly resolved: string[];
}

/** Opens the named hosts of the sites; every name ends at 127.0.0.1 unless the test resolves it itself. */
export function testDialler(
  allowedHosts: readonly string[],
  options: Partial<DiallerOptions> = {},
): TestDialler {
  const refusals: Refusal[] = [];
  const resolved: string[] = [];
  const { resolve = async () => ["127.0.0.1"] } = options;
  const made = dialler({
    clock: systemClock(),
    rules: { allowedHosts },
    refused: (refusal) => refusals.push(refusal),
    ...options,
    resolve: (host) => {
      resolved.push(host);
      return resolve(host);
    },
  });
  afterTest(() => made.close());
  return { ...made, refusals, resolved };
}
