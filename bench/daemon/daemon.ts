// Starts daemons for the benches on fakes of their own, and reads from the kernel what they cost.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock, type Clock } from "@parley/protocol";
import { fakeModels, fakeTelegram, type FakeModels, type FakeTelegram } from "@parley/testkit";

/** Fractions of a millisecond matter in a bench. */
export const clock: Clock = { ...systemClock(), now: () => performance.timeOrigin + performance.now() };

/** The folder of this checkout. */
export const here = fileURLToPath(new URL("../..", import.meta.url));

export interface Fakes {
  readonly telegram: FakeTelegram;
  readonly models: FakeModels;
  close(): Promise<void>;
}

export async function fakes(): Promise<Fakes> {
  const [telegram, models] = await Promise.all([fakeTelegram({ clock }), fakeModels({ clock })]);
  telegram.bot();
  return {
    telegram,
    models,
    close: async () => void (await Promise.all([telegram.close(), models.close()])),
  };
}

export interface DaemonOptions {
  /** The checkout, bundle or main.js whose daemon is started; default: this one. */
  readonly checkout?: string;
  /** Under `agents.defaults`, beside the model. */
  readonly defaults?: object;
  /** More flags for Node, such as `--cpu-prof`. */
  readonly flags?: readonly string[];
  /** Over the environment of a bench's daemon. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface BenchDaemon {
  readonly pid: number;
  readonly readyMs: number;
  /** Seconds of CPU used so far; the kernel counts in hundredths. */
  cpuSeconds(): number;
  /** Milliseconds of CPU so far, by thread; those of threads that ended are missing. */
  threadsMs(): { readonly main: number; readonly others: number };
  residentMb(): number;
  stop(): Promise<void>;
}

export interface Home {
  readonly path: string;
  remove(): void;
}

/** A home whose one account and one model are the fakes. */
export function homeFor({ telegram, models }: Fakes, defaults: object = {}): Home {
  const path = mkdtempSync(join(tmpdir(), "parley-bench-"));
  const provider = {
    api: "openai-completions",
    baseUrl: `${models.url}/v1`,
    apiKey: "bench",
    models: [{ id: "m1" }],
  };
  const config = {
    gateway: { port: 0 },
    models: { providers: { fake: provider } },
    agents: { defaults: { model: { primary: "fake/m1" }, ...defaults } },
    channels: {
      telegram: {
        botToken: telegram.bot().token,
        apiRoot: telegram.url,
        dmPolicy: "open",
        allowFrom: ["*"],
        pacing: "off",
        streaming: "off",
      },
    },
  };
  writeFileSync(join(path, "parley.json5"), JSON.stringify(config));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** As in bin/parley. */
const heapFlags = ["--max-semi-space-size=2", "--max-old-space-size=512"];

/**
 * Starts the daemon by bin/parley, with `flags` as bin/parley would; resolves when it says that it is ready.
 */
export async function startDaemon(
  home: Home,
  { checkout = here, flags = [], env = {} }: DaemonOptions = {},
): Promise<BenchDaemon> {
  const startedAtMs = clock.mono();
  // What V8 is told goes to the sources: bin/parley passes no flags on.
  const main = checkout.endsWith(".js") ? checkout : join(checkout, "apps/gateway/src/main.ts");
  const [program, ...words] =
    flags.length === 0 && !checkout.endsWith(".js")
      ? [join(checkout, "bin/parley"), "start"]
      : [process.execPath, "--disable-sigusr1", ...heapFlags, ...flags, main];
  const child = spawn(program, words, {
    stdio: ["ignore", "pipe", "ignore"],
    env: {
      // A bundle runs the Node of the PATH.
      PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"] ?? ""}`,
      HOME: home.path,
      PARLEY_HOME: home.path,
      NODE_COMPILE_CACHE: join(home.path, "compile-cache"),
      ...env,
    },
  });
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the daemon ended with ${code} before it was ready`)));
    child.stdout?.on("data", (chunk: Buffer) => chunk.includes("#code=") && resolve());
  });
  const pid = child.pid ?? 0;
  const proc = (file: string): string => readFileSync(`/proc/${pid}/${file}`, "utf8");
  return {
    pid,
    readyMs: clock.mono() - startedAtMs,
    cpuSeconds() {
      const fields = proc("stat").split(") ")[1]?.split(" ") ?? [];
      return (Number(fields[11]) + Number(fields[12])) / 100;
    },
    threadsMs() {
      const spent = new Map(
        readdirSync(`/proc/${pid}/task`).map((thread) => [
          thread,
          Number(proc(`task/${thread}/schedstat`).split(" ")[0]) / 1e6,
        ]),
      );
      const main = spent.get(String(pid)) ?? 0;
      return { main, others: [...spent.values()].reduce((sum, ms) => sum + ms, 0) - main };
    },
    residentMb: () => Number(/VmRSS:\s+(\d+)/.exec(proc("status"))?.[1] ?? 0) / 1024,
    stop: () => ended(child),
  };
}

async function ended(child: ChildProcess): Promise<void> {
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await exited;
}
