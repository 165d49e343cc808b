// Puts a real reverse proxy before a daemon, with the files of deploy/ as an operator takes them: only ports,
// and the site around them, are the test's.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { Browser } from "playwright-core";
import { controlClient } from "./control-client.ts";
import { eventually, startDaemon, type Daemon } from "./daemon.ts";

const deploy = join(import.meta.dirname, "../../../../deploy");

/** Free at this moment; a proxy has no way to tell which one it took. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export async function proxyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "parley-proxy-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export const deployed = (name: string): Promise<string> => readFile(join(deploy, name), "utf8");

/** Ends it with the test. */
export async function runProxy(
  command: string,
  args: readonly string[],
  folder: string,
  port: number,
): Promise<void> {
  const child = spawn(command, args, {
    env: { PATH: process.env["PATH"], HOME: folder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const gone = new Promise((resolve) => child.once("close", resolve));
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await gone;
  });
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}: ${said}`);
    return fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
  });
}

export async function nginxConfig(
  folder: string,
  port: number,
  daemon: Pick<Daemon, "url">,
): Promise<string> {
  const [location, map] = [await deployed("nginx/parley.conf"), await deployed("nginx/parley-map.conf")];
  const path = join(folder, "nginx.conf");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  await writeFile(
    path,
    `daemon off; pid ${folder}/pid; error_log stderr; events {}
http { access_log off; ${temporary.join(" ")}
${map}
server { listen 127.0.0.1:${port};
${location.replace("http://127.0.0.1:7275/", `${daemon.url}/`)}
} }`,
  );
  return path;
}

/** A daemon that knows that it is served below /parley/ of this port. */
export function daemonBehind(port: number): Promise<Daemon> {
  const gateway = {
    port: 0,
    auth: { token: "test-token-for-the-gateway-0123456789" },
    publicUrl: `http://127.0.0.1:${port}/parley`,
    trustedProxies: ["127.0.0.1"],
  };
  return startDaemon({ config: { gateway } });
}

/** What a person and a program do through the proxy. */
export async function worksBelow(origin: string, daemon: Daemon, browser: Browser): Promise<void> {
  const at = `${origin}/parley`;
  const bare = await fetch(at, { redirect: "manual" });
  expect([bare.status, new URL(bare.headers.get("location") ?? "", at).pathname]).toEqual([308, "/parley/"]);
  for (const path of ["/healthz", "/docs", "/docs/http", "/docs/?q=proxy"])
    expect([path, (await fetch(`${at}${path}`)).status]).toEqual([path, 200]);

  const answer = await fetch(`${at}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${daemon.token}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "main",
      stream: true,
      messages: [{ role: "user", content: "!say through the proxy" }],
    }),
  });
  const stream = await answer.text();
  // However the words were cut into pieces.
  const said = [...stream.matchAll(/"content":"([^"]*)"/g)].map(([, piece = ""]) => piece).join("");
  expect(said).toBe("through the proxy");
  expect(stream).toMatch(/data: \[DONE\]\s*$/);

  const client = await controlClient({ url: at, token: daemon.token });
  expect(await client.call("status")).toMatchObject({ state: "ok" });
  client.close();
  await client.closed;

  // Of a refused caller the log has the address that the proxy names, and a header of the caller's own counts
  // for nothing.
  await fetch(`${at}/v1/models`, {
    headers: { authorization: "Bearer wrong", "x-forwarded-for": "203.0.113.9" },
  });
  await eventually(() => daemon.log().includes('"reason":"wrong_token"'));
  expect(daemon.log()).not.toContain("203.0.113.9");

  const page = await (await browser.newContext()).newPage();
  const elsewhere: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(`${at}/`)) elsewhere.push(request.url());
  });
  await page.goto(`${at}/#code=${daemon.code}`);
  await page.getByRole("textbox").waitFor({ timeout: 40_000 });
  await page.getByRole("textbox").fill("!say below a path");
  await page.keyboard.press("Enter");
  await eventually(
    async () => (await page.getByText("below a path").count()) > 1,
    40_000,
    "the answer on the page",
  );
  await page.reload();
  await eventually(
    async () => (await page.getByText("below a path").count()) > 1,
    40_000,
    "the answer after a reload",
  );
  expect(elsewhere).toEqual([]);
  await page.context().close();
}
