// The bundle, which the image is made of: built by this run, started without this checkout's node_modules,
// and talked to. And the image's recipe, held against what an image of ours must be (no Docker runs here).
import { execFile, fork, spawn } from "node:child_process";
import { on } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp, eventually, freshHome } from "./daemon.ts";
import { findableGateway } from "./operator.ts";
import { world, type World } from "./world.ts";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const run = promisify(execFile);
let w: World | null = null;
let folder = "";
afterEach(async () => {
  await cleanUp();
  await w?.close();
  if (folder !== "") await rm(folder, { recursive: true, force: true });
});

test("the bundle starts by itself, answers a chat, and its command line finds it", async () => {
  w = await world();
  folder = await mkdtemp(join(tmpdir(), "parley-bundle-"));
  await bundled(folder);
  expect(await pageReadIn(folder)).toMatchObject({ page: { title: "A title", text: "words" } });
  const home = await freshHome();
  await writeFile(join(home, "parley.json5"), JSON.stringify({ ...w.config, ...(await findableGateway()) }));
  const env = { PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`, HOME: home, PARLEY_HOME: home };
  const child = spawn(join(folder, "bin/parley"), ["start", "--role", "all"], {
    cwd: home,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const exited = new Promise<number | null>((resolve) => child.once("close", resolve));
  try {
    await eventually(() => said.includes("Parley is ready"), 20_000, said);
    w.telegram.as(4242).says("hello");
    expect(await w.answered(4242, 1)).toEqual(["echo: hello"]);
    const { stdout } = await run(join(folder, "bin/parley"), ["--json", "status"], { cwd: home, env });
    expect(JSON.parse(stdout)).toMatchObject({ state: "ok", pid: child.pid });
    expect(existsSync(join(home, "workspace", "SOUL.md"))).toBe(true);
    expect(readFileSync(`/proc/${child.pid}/cmdline`, "utf8").split("\0")).toContain("--disable-sigusr1");
  } finally {
    child.kill("SIGTERM");
  }
  expect(await exited).toBe(0);
  for (const word of ["start", "status"])
    expect(await onOldNode(folder, word)).toEqual([78, expect.stringMatching(/needs Node 24 .* is v?20\./)]);
});

/** Of what this run has bundled already a copy: where it lies, this checkout's packages are found. */
async function bundled(to: string): Promise<void> {
  const there = dirname(process.env["PARLEY_TEST_BUNDLE"] ?? "/nowhere/apps");
  if (existsSync(join(there, "bin/parley"))) await cp(there, to, { recursive: true, verbatimSymlinks: true });
  else await run(process.execPath, [join(root, "scripts/bundle.mjs"), to], { cwd: root });
}

/** What the bundle's reader of pages makes of one; it is a program of its own, with libraries of its own. */
async function pageReadIn(bundle: string): Promise<unknown> {
  const reader = fork(join(bundle, "apps/gateway/src/page-worker.js"), {
    serialization: "advanced",
    execArgv: [],
  });
  const bytes = new TextEncoder().encode("<title>A title</title><p>words");
  reader.send({
    kind: "html",
    bytes,
    contentType: "text/html",
    url: "https://open.test/",
    textChars: 9,
  });
  try {
    for await (const [said] of on(reader, "message")) if (!("ready" in said)) return said;
    return null;
  } finally {
    reader.kill("SIGKILL");
  }
}

/** A Node of which nothing but its version is known: it must not get as far as to be asked for more. */
async function onOldNode(bundle: string, word: string): Promise<readonly [code: unknown, err: string]> {
  const bin = await mkdtemp(join(tmpdir(), "parley-old-node-"));
  await writeFile(join(bin, "node"), '#!/bin/sh\n[ "$*" = --version ] && echo v20.20.2\n', { mode: 0o755 });
  try {
    await run(join(bundle, "bin/parley"), [word], { env: { PATH: `${bin}:/usr/bin:/bin` } });
    return [0, ""];
  } catch (error) {
    const { code, stderr } = error as { readonly code?: unknown; readonly stderr?: string };
    return [code, stderr ?? ""];
  } finally {
    await rm(bin, { recursive: true });
  }
}

describe("deploy/Dockerfile", () => {
  const text = readFileSync(join(root, "deploy/Dockerfile"), "utf8");
  const lines = text
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n");
  const steps = [...lines.join("\n").matchAll(/^([A-Z]+) +(.+)$/gm)].map(([, step = "", words = ""]) => ({
    step,
    words,
  }));
  const of = (step: string): string[] => steps.filter((each) => each.step === step).map(({ words }) => words);
  const last = steps.slice(steps.findLastIndex(({ step }) => step === "FROM"));

  test("every line is a step, and every base has a version", () => {
    expect(lines.filter((line) => line.trim() !== "")).toHaveLength(steps.length);
    for (const from of of("FROM")) expect(from).toMatch(/^\S+:\d+\.\d+[\w.-]*(?: AS \w+)?$/);
    expect(of("ADD")).toEqual([]);
  });

  test("packages come without recommendations and leave no lists behind", () => {
    for (const words of of("RUN").filter((each) => each.includes("apt-get install"))) {
      expect(words).toContain("--no-install-recommends");
      expect(words).toContain("rm -rf /var/lib/apt/lists/*");
      expect(words).toMatch(/^apt-get update && /);
    }
  });

  test("what runs is no root, is looked after, and gets its signals", () => {
    expect(last.findLast(({ step }) => step === "USER")?.words).toBe("node");
    expect(last.findIndex(({ step }) => step === "USER")).toBeGreaterThan(
      last.findLastIndex(({ step }) => step === "RUN"),
    );
    expect(of("HEALTHCHECK")[0]).toContain("/healthz");
    const entry = JSON.parse(of("ENTRYPOINT")[0] ?? "null") as string[];
    expect(entry[0]).toMatch(/tini$/);
    expect(entry.at(-1)).toBe("/app/bin/parley");
    for (const secret of ["TOKEN", "KEY", "PASSWORD", "SECRET"])
      expect(of("ENV").join(" ")).not.toContain(secret);
  });

  test("it writes only below its home and /tmp, so that the root may be read-only", () => {
    expect(of("VOLUME")).toEqual(["/var/lib/parley"]);
    expect(of("ENV").join(" ")).toMatch(/PARLEY_HOME=\/var\/lib\/parley .*NODE_COMPILE_CACHE=\/tmp\//);
    expect(last.find(({ step }) => step === "WORKDIR")?.words).toBe("/var/lib/parley");
  });
});
