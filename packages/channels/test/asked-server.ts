// A server that writes down each request as it comes in, whole, and answers as a test says. Names that a
// client draws anew for each request (the boundary between the parts of a form, the files in it) are
// shortened.
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface AskedServer {
  readonly url: string;
  /** Each request: method, address, headers that mean something, body. */
  readonly asked: string[];
  /** The next answers, in this order; after them `usual` answers. One with the status 0 never comes. */
  readonly next: { readonly status: number; readonly body: unknown }[];
  close(): Promise<void>;
}

export async function askedServer(usual: (path: string) => unknown): Promise<AskedServer> {
  const asked: string[] = [];
  const next: { readonly status: number; readonly body: unknown }[] = [];
  const server = createServer((request, response) => {
    void wholeOf(request).then((words) => {
      asked.push(words);
      const { status, body } = next.shift() ?? { status: 200, body: usual(request.url ?? "") };
      if (status === 0) return;
      const bytes = typeof body === "string" ? body : JSON.stringify(body);
      response.writeHead(status, { "content-type": "application/json" }).end(bytes);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    next,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function wholeOf(request: IncomingMessage): Promise<string> {
  const body = Buffer.concat((await request.toArray()) as Buffer[]).toString("utf8");
  const { "content-type": type = "", authorization } = request.headers;
  const boundary = /boundary=(\S+)/.exec(type)?.[1];
  const head = `${request.method} ${request.url}${authorization === undefined ? "" : ` ${authorization}`}`;
  if (boundary === undefined) return `${head} ${type} ${body}`.trim();
  const parts = body
    .split(`--${boundary}`)
    .map((part) => part.trim())
    .filter((part) => part !== "" && part !== "--");
  return [`${head} ${type.replace(boundary, "~")}`, ...parts.map(partWords)].join("\n    ");
}

function partWords(part: string): string {
  const [head = "", ...body] = part.split("\r\n\r\n");
  return `${head.replaceAll(/\r\n/g, " ")} ${body.join("\n\n")}`
    .replaceAll(/content-disposition:\s*form-data;\s*/gi, "")
    .trim();
}
