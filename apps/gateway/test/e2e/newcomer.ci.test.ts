// A newcomer's path, as the README tells it: an empty folder, `npm start`, `parley setup`, a chat, a pairing,
// a restart in mid-answer. Through the edges only: the shell, the chat, the model's server.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fakeModels, fakeTelegram } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "./daemon.ts";
import { findableGateway, parley, parleyJson } from "./operator.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));

interface Started {
  out(): string;
  readonly pid: number;
  readonly exited: Promise<number>;
}

/** `npm start`, as a person types it. */
function npmStart(home: string): Started {
  const env = {
    PATH: process.env["PATH"],
    HOME: home,
    PARLEY_HOME: home,
    npm_config_update_notifier: "false",
  };
  const child = spawn("npm", ["start"], {
    cwd: root,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (out += chunk.toString()));
  // npm, its shell and what they run are one group.
  onTestFinished(() => {
    try {
      process.kill(-(child.pid ?? 0), "SIGKILL");
    } catch {
      // All of it has ended.
    }
  });
  return { out: () => out, pid: child.pid ?? 0, exited: once(child, "exit").then(([code]) => Number(code)) };
}

test("a fresh folder, npm start, setup, a chat, a pairing, and a restart in mid-answer: nothing is lost", async () => {
  const [telegram, models] = await Promise.all([fakeTelegram(), fakeModels()]);
  onTestFinished(async () => void (await Promise.all([telegram.close(), models.close()])));
  const home = await mkdtemp(join(tmpdir(), "parley-newcomer-"));
  onTestFinished(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
  const { gateway } = (await findableGateway()) as { readonly gateway: { readonly port: number } };
  await writeFile(
    join(home, "parley.json5"),
    `{\n  // my own port\n  gateway: { port: ${gateway.port} },\n}\n`,
  );

  const started = npmStart(home);
  await eventually(() => started.out().includes("Parley is ready."), 60_000, `npm start: ${started.out()}`);
  const alone = (await parleyJson(home, "status")) as { readonly pid: number; readonly model: string };
  expect(alone.model).toBe("rehearsal/rehearsal");
  expect((await readFile(`/proc/${alone.pid}/cmdline`, "utf8")).split("\0")).toContain("--disable-sigusr1");

  // Without a terminal it asks nothing, says what is missing, and writes nothing that does not work.
  const silent = await parley(home, "setup");
  expect([silent.exitCode, silent.err]).toEqual([2, expect.stringContaining("--provider")]);
  const bot = telegram.bot();
  const flags = [
    "--provider",
    "lab",
    "--base-url",
    `${models.url}/v1`,
    "--model",
    "m1",
    "--api-key",
    "a-key-of-the-lab",
  ];
  const telegramFlags = ["--telegram-token", bot.token, "--telegram-api-root", telegram.url];
  telegram.inject({
    method: "getMe",
    times: 1,
    trouble: {
      kind: "answer",
      status: 401,
      body: { ok: false, error_code: 401, description: "Unauthorized" },
    },
  });
  const refused = await parley(home, "setup", "--provider", "rehearsal", ...telegramFlags);
  expect([refused.exitCode, refused.err]).toEqual([1, expect.stringContaining("Telegram refuses the token")]);
  expect(refused.err).not.toContain(bot.token);
  const setUp = (await parleyJson(home, "setup", ...flags, ...telegramFlags)) as {
    readonly checks: readonly { readonly ok: boolean }[];
  };
  expect(setUp.checks.map(({ ok }) => ok)).toEqual([true, true]);
  const config = await readFile(join(home, "parley.json5"), "utf8");
  expect(config).toContain("// my own port");
  expect(config).not.toContain(bot.token);
  expect((await stat(join(home, "secrets/telegram-token"))).mode & 0o777).toBe(0o600);
  expect(await parley(home, "restart")).toMatchObject({
    exitCode: 0,
    out: expect.stringContaining("is back") as string,
  });
  await eventually(
    async () => ((await parleyJson(home, "status")) as { readonly model: string }).model === "lab/m1",
  );

  const me = telegram.as({ id: 4242, name: "Newcomer" });
  const shown = (): readonly string[] =>
    telegram
      .visible(4242)
      .filter(({ byBot }) => byBot)
      .map(({ text }) => text);
  me.says("hello?");
  const code = await eventually(
    () => /\b[A-HJ-NP-Z2-9]{8}\b/.exec(shown()[0] ?? "")?.[0],
    10_000,
    "a pairing code",
  );
  expect((await parley(home, "pair", "approve", code)).exitCode).toBe(0);
  const before = shown().length;
  me.says("hello again");
  await eventually(
    () => shown().slice(before).includes("echo: hello again"),
    10_000,
    `an answer among ${JSON.stringify(shown())}`,
  );

  // Eight seconds: longer than a command line takes to start on a busy machine.
  const long = Array.from({ length: 40 }, (_, n) => `word${n}`).join(" ");
  models.reply(({ lastUserText }) =>
    lastUserText.includes("long") ? { text: long, betweenMs: 200 } : `echo: ${lastUserText}`,
  );
  me.says("something long, please");
  await eventually(
    () => shown().some((text) => text.startsWith("word0")),
    10_000,
    "the beginning of the answer",
  );
  const restarting = parley(home, "restart");
  me.says("and this, said meanwhile");
  const restarted = await restarting;
  expect(restarted).toMatchObject({
    exitCode: 0,
    err: expect.stringContaining("Waiting for 1 turn") as string,
  });
  await eventually(
    () => shown().some((text) => text.includes("said meanwhile")),
    20_000,
    `the second answer among ${JSON.stringify(shown())}`,
  );
  expect(shown().filter((text) => text.includes("word39"))).toEqual([long]);
  expect(shown().filter((text) => text.includes("said meanwhile"))).toHaveLength(1);

  const after = (await parleyJson(home, "status")) as { readonly pid: number; readonly state: string };
  expect(after).toMatchObject({ pid: alone.pid, state: "ok" });
  expect(await parley(home, "stop")).toMatchObject({ exitCode: 0 });
  expect(await started.exited).toBe(0);
  expect(telegram.violations()).toEqual([]);
}, 300_000);
