// A transcription server as small as one can be: it answers every recording with the same words, or refuses.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Speech {
  readonly url: string;
  /** Bodies of the requests so far, as text. */
  readonly heard: readonly string[];
  says(words: string | null): void;
  close(): Promise<void>;
}

export async function speechServer(): Promise<Speech> {
  const heard: string[] = [];
  let words: string | null = "";
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    heard.push(
      `${request.method} ${request.url} ${request.headers.authorization}\n${Buffer.concat(chunks).toString("latin1")}`,
    );
    if (words === null) response.writeHead(400).end("{}");
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ text: words }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    heard,
    says: (next) => (words = next),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
