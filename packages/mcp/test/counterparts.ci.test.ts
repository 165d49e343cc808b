// Real servers of the Model Context Protocol's own repository, over both transports.
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { SessionKey } from "@parley/protocol";
import { lacks, program } from "@parley/testkit";
import { openSandbox, type ToolResult, type ToolScope } from "@parley/tools";
import { expect, onTestFinished, test, vi } from "vitest";
import { onHost, plain, stage, textOf, type Stage } from "./stage.ts";

function programOf(name: string): string {
  const folder = fileURLToPath(new URL(`../node_modules/${name}/dist/`, import.meta.url));
  return join(folder, "index.js");
}
const everything = programOf("@modelcontextprotocol/server-everything");
const filesystem = programOf("@modelcontextprotocol/server-filesystem");
const memory = programOf("@modelcontextprotocol/server-memory");

test("server-everything over stdio: text, sums, pictures, resources and structured answers, also after it was killed", async () => {
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
  await kill(s);
  await vi.waitFor(
    async () => expect(textOf(await s.call(settings, "fake__echo", { message: "back" }))).toBe("Echo: back"),
    300_000,
  );
});

test("server-memory over stdio keeps what it is told in its file, also when it is killed", async () => {
  const s = stage();
  const settings = s.use({
    command: process.execPath,
    args: [memory],
    env: { MEMORY_FILE_PATH: "graph.json" },
  });
  const entities = [{ name: "Ada", entityType: "person", observations: ["likes tea"] }];
  await s.call(settings, "fake__create_entities", { entities });
  const search = async (): Promise<string> =>
    textOf(await s.call(settings, "fake__search_nodes", { query: "tea" }));
  expect(await search()).toContain("Ada");
  await kill(s);
  await vi.waitFor(async () => expect(await search()).toContain("Ada"), 120_000);
  expect((await s.servers.list())[0]?.starts).toBe(2);
});

test("server-filesystem over stdio reads and writes in its folder alone, and goes on after it was killed", async () => {
  const s = stage();
  const folder = await realpath(await mkdtemp(join(tmpdir(), "mcp-files-")));
  onTestFinished(() => rm(folder, { recursive: true }));
  const settings = s.use({ command: process.execPath, args: [filesystem, folder] });
  const path = join(folder, "note.txt");
  const use = async (tool: string, args: object): Promise<ToolResult> =>
    s.call(settings, `fake__${tool}`, args);
  expect(textOf(await use("write_file", { path, content: "tea" }))).toContain("Successfully wrote");
  expect(textOf(await use("read_text_file", { path }))).toContain("tea");
  const outside = await use("read_text_file", { path: "/etc/hostname" });
  expect([outside.isError, textOf(outside)]).toEqual([true, expect.stringMatching(/denied/)]);
  await kill(s);
  await vi.waitFor(
    async () => expect(textOf(await use("read_text_file", { path }))).toContain("tea"),
    300_000,
  );
  expect((await s.servers.list())[0]?.starts).toBe(2);
});

const bwrap = program("bwrap");
test.skipIf(lacks(bwrap))(
  "server-filesystem in an agent's sandbox sees the workspace, cannot write it, and nothing else of the machine",
  async () => {
    const s = stage();
    const outside = await realpath(await mkdtemp(join(tmpdir(), "mcp-boxed-")));
    onTestFinished(() => rm(outside, { recursive: true }));
    const workspace = join(outside, "workspace");
    await mkdir(workspace);
    await writeFile(join(workspace, "note.txt"), "tea");
    await writeFile(join(outside, "secret.txt"), "hush");
    const root = fileURLToPath(new URL("../../..", import.meta.url));
    const settings = s.use({ command: process.execPath, args: [filesystem, "/"] });
    const sandbox = await openSandbox(
      {
        backend: "bubblewrap",
        scope: "agent",
        workspaceAccess: "rw",
        network: false,
        limits: { memoryMb: 1_024, processes: 64, cpuSeconds: 60 },
        docker: { image: "none" },
      },
      {
        agent: "main",
        session: "agent:main:main" as SessionKey,
        workspace,
        folder: join(outside, "sandboxes"),
        readRoots: [
          join(root, "node_modules"),
          join(root, ".toolchain"),
          join(root, "packages/mcp/node_modules"),
        ],
        hidden: [],
        host: { PATH: process.env["PATH"] ?? "" },
        mark: () => "mark",
      },
    );
    const { tools, unavailable } = await s.servers.at(settings, sandbox);
    expect(unavailable).toEqual([]);
    const use = async (name: string, args: object): Promise<ToolResult> => {
      const tool = tools.find((each) => each.name === `fake__${name}`);
      if (tool === undefined) throw new Error(`there is no ${name}`);
      return tool.run(args, { signal: new AbortController().signal, turn: "t", callId: "c" } as ToolScope);
    };
    const read = async (path: string): Promise<string> => textOf(await use("read_text_file", { path }));
    expect(await read("/workspace/note.txt")).toContain("tea");
    expect(await read(join(outside, "secret.txt"))).not.toContain("hush");
    const written = await use("write_file", { path: "/workspace/new.txt", content: "x" });
    expect([written.isError, textOf(written)]).toEqual([true, expect.stringMatching(/EROFS|read-only/i)]);
    // A sandbox that cannot be made is no reason to run it on the host.
    expect((await s.servers.at(settings, null)).tools).toHaveLength(tools.length);
    const [tool] = (await s.servers.at(settings, null)).tools;
    const scope = { signal: new AbortController().signal, turn: "t", callId: "d" } as ToolScope;
    expect(await tool?.run({ path: "/" }, scope)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/sandbox, which cannot be made/) }],
    });
  },
  300_000,
);

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
      300_000,
    );
  });

/** Kills the server "fake" by the signal that nothing can answer. */
async function kill(s: Stage): Promise<void> {
  const [view] = await s.servers.list();
  if (view?.pid === undefined) throw new Error("no server runs");
  process.kill(view.pid, "SIGKILL");
  await vi.waitFor(async () => expect((await s.servers.list())[0]?.state).not.toBe("running"), 10_000);
}

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
  await vi.waitFor(() => fetch(`http://127.0.0.1:${port}/`), { timeout: 120_000, interval: 100 });
  return child;
}
