// `parley mcp serve` between a program and the gateway: each line is handed over as it is, and what the
// gateway says, or that it refuses or is away, comes back under the line's own id.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { parley, stateFolder, token } from "./fake-gateway.ts";

type Asked = readonly [method: string, path: string, authorization: string, type: string, body: string];

async function serving(answers: { readonly [line: string]: readonly [status: number, text: string] }) {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const { authorization = "", "content-type": type = "" } = request.headers;
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk as string;
    asked.push([request.method ?? "", request.url ?? "", authorization, type, body]);
    const [status, text] = answers[body] ?? [404, "unknown"];
    response.writeHead(status).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const home = stateFolder(`{ gateway: { port: ${port} } }`);
  const serve = async (lines: readonly string[]) => {
    const input = new PassThrough();
    input.end(lines.map((line) => `${line}\n`).join(""));
    const run = await parley(home, ["mcp", "serve"], { input });
    const out = run.out.split("\n").filter((line) => line !== "");
    return { ...run, said: out.map((line) => JSON.parse(line) as object) };
  };
  return { asked, serve, url: `http://127.0.0.1:${port}`, server };
}

const line = (id: number | string): string => JSON.stringify({ jsonrpc: "2.0", id, method: "ping" });

test("each line is asked of the gateway with its token, and its answer is written; a notice has none", async () => {
  const notice = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
  const { asked, serve } = await serving({
    [line(1)]: [200, '{"jsonrpc":"2.0","id":1,"result":{}}\n'],
    [notice]: [202, "taken"],
    "no json": [400, '{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}'],
  });
  const { exitCode, said, err } = await serve([line(1), "", "  ", notice, "no json"]);
  const of = (body: string): Asked => ["POST", "/mcp", `Bearer ${token}`, "application/json", body];
  const byBody = (a: Asked, b: Asked): number => (a[4] < b[4] ? -1 : 1);
  expect(asked.toSorted(byBody)).toEqual([line(1), notice, "no json"].map(of).toSorted(byBody));
  expect([exitCode, err]).toEqual([0, ""]);
  expect(said).toHaveLength(2);
  expect(said).toContainEqual({ jsonrpc: "2.0", id: 1, result: {} });
  expect(said).toContainEqual({ jsonrpc: "2.0", id: null, error: { code: -32_700 } });
});

test.each([401, 403])(
  "a token that the gateway refuses with %i is told to the program and to the person",
  async (status) => {
    const { serve, url } = await serving({
      [line("a")]: [status, '{"secret":"of the answer"}'],
      "{}": [status, ""],
    });
    const { exitCode, said, err } = await serve([line("a"), "{}"]);
    const message = `The gateway at ${url} does not take this token.`;
    expect(said).toEqual([{ jsonrpc: "2.0", id: "a", error: { code: -32_603, message } }]);
    expect(err).toBe(`parley mcp serve: ${message}\n`.repeat(2));
    expect(exitCode).toBe(0);
  },
);

test("other refusals are the gateway's own words", async () => {
  const { serve } = await serving({ [line(7)]: [500, '{"jsonrpc":"2.0","id":7,"error":{"code":-32603}}'] });
  expect((await serve([line(7)])).said).toEqual([{ jsonrpc: "2.0", id: 7, error: { code: -32_603 } }]);
});

test("a gateway that went away is told under each line's id, and under none where a line has none", async () => {
  const { serve, server } = await serving({});
  await new Promise((resolve) => server.close(resolve));
  const { said, err } = await serve([line(1), "no json", line("b"), '{"id":null}']);
  expect(said.map((each) => (each as { id: unknown }).id)).toEqual([1, "b", null]);
  expect(err.match(/^parley mcp serve: /gm)).toHaveLength(4);
});
