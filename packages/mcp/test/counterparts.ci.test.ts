// Real servers of the Model Context Protocol's own repository, over both transports.
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { onHost, plain, stage, textOf } from "./stage.ts";

function programOf(name: string): string {
  const folder = fileURLToPath(new URL(`../node_modules/${name}/dist/`, import.meta.url));
  return join(folder, "index.js");
}
const everything = programOf("@modelcontextprotocol/server-everything");
const memory = programOf("@modelcontextprotocol/server-memory");

test("server-everything over stdio: text, sums, pictures, resources and structured answers", async () => {
  const s = stage();
  const settings = s.use({ command: process.execPath, args: [everything, "stdio"] });
  expect(textOf(await s.call(settings, "fake__echo", { message: "hi" }))).toBe("Echo: hi");
  expect(textOf(await s.call(settings, "fake__get-sum", { a: 2, b: 3 }))).toContain("5");
  expect((await s.call(settings, "fake__get-tiny-image")).content).toContainEqual({
    type: "image",
    path: "kept.png",
    mediaType: "image/png",
  });
  expect(textOf(await s.call(settings, "fake__get-structured-content", { location: "Chicago" }))).toContain(
    "temp",
  );
  expect(textOf(await s.call(settings, "fake__get-resource-links", { count: 1 }))).toContain("[resource");
  const wrong = await s.call(settings, "fake__get-sum", { a: "x" });
  expect(wrong.isError).toBe(true);
});

test("server-memory over stdio keeps what it is told in its file", async () => {
  const s = stage();
  const settings = s.use({
    command: process.execPath,
    args: [memory],
    env: { MEMORY_FILE_PATH: "graph.json" },
  });
  const entities = [{ name: "Ada", entityType: "person", observations: ["likes tea"] }];
  await s.call(settings, "fake__create_entities", { entities });
  expect(textOf(await s.call(settings, "fake__search_nodes", { query: "tea" }))).toContain("Ada");
});

for (const transport of ["http", "sse"] as const)
  test(`server-everything over ${transport}, and again after it was killed and started anew`, async () => {
    const port = await freePort();
    const s = stage();
    let child = await started(transport, port);
    onTestFinished(() => void child.kill("SIGKILL"));
    const path = transport === "http" ? "mcp" : "sse";
    const url = `http://127.0.0.1:${port}/${path}`;
    const settings = { approveFirst: false, servers: { web: { ...plain, transport, url } } };
    s.servers.use(settings);
    expect((await s.servers.at(settings, onHost)).unavailable).toEqual([]);
    expect(textOf(await s.call(settings, "web__echo", { message: "hi" }))).toBe("Echo: hi");
    child.kill("SIGKILL");
    await vi.waitFor(() => expect(child.signalCode).toBe("SIGKILL"), 10_000);
    expect((await s.call(settings, "web__echo", { message: "gone" })).isError).toBe(true);
    child = await started(transport, port);
    await vi.waitFor(
      async () => expect(textOf(await s.call(settings, "web__echo", { message: "back" }))).toBe("Echo: back"),
      20_000,
    );
  }, 60_000);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { readonly port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function started(transport: "http" | "sse", port: number): Promise<ChildProcess> {
  expect(existsSync(everything)).toBe(true);
  const kind = transport === "http" ? "streamableHttp" : "sse";
  const child = spawn(process.execPath, [everything, kind], {
    env: { PATH: process.env["PATH"], PORT: String(port) },
    stdio: "ignore",
  });
  await vi.waitFor(() => fetch(`http://127.0.0.1:${port}/`), { timeout: 20_000, interval: 100 });
  return child;
}
