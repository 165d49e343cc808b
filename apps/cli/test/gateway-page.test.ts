// What an update takes for a page that works: anything that the gateway itself answers, but for errors of its
// own.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { watchedGateway } from "../src/update/watched-gateway.ts";
import { stateFolder } from "./fake-gateway.ts";

async function pageTrouble(status: number | null): Promise<string | null> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(status ?? 200).end("a page");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const home = stateFolder(`{ gateway: { port: ${(server.address() as AddressInfo).port} } }`);
  if (status === null) await new Promise((resolve) => server.close(resolve));
  const trouble = await watchedGateway({ env: { PARLEY_HOME: home } } as never, "parley").pageTrouble();
  expect(asked).toEqual(status === null ? [] : ["GET /"]);
  return trouble;
}

test.each([
  [200, null],
  [404, null],
  [499, null],
  [500, "it answers 500"],
  [503, "it answers 503"],
])("a page that answers %i: %s", async (status, trouble) => {
  expect(await pageTrouble(status)).toBe(trouble);
});

test("a page that nobody serves is told in the words of the connection", async () => {
  expect(await pageTrouble(null)).toMatch(/\w/);
});
