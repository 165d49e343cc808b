// Runs `npm run demo`: a fake Telegram, a fake model server and the real daemon, and a conversation between
// them in the terminal. It needs no network; everything lives in a temporary folder and on free ports and is
// gone at the end.
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock, sleep } from "@parley/protocol";
import { fakeModels, fakeTelegram, type ModelStep } from "./index.ts";

const daemonMain = fileURLToPath(new URL("../../../apps/gateway/src/main.ts", import.meta.url));
const clock = systemClock();
const patienceMs = 20_000;
const alice = 4242;

const answers: readonly ModelStep[] = [
  { text: "Hello Alice! I am an agent behind **Parley**. Ask me anything.", betweenMs: 40 },
  {
    text: "Here is a list:\n\n1. your message became a *durable row*,\n2. then Telegram was told it arrived,\n3. then I was asked.",
    betweenMs: 40,
  },
  {
    text: "I was killed while I thought about this, and here is my answer all the same - once.",
    betweenMs: 10,
  },
];

async function demo(): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "parley-demo-"));
  const [telegram, models] = await Promise.all([fakeTelegram(), fakeModels()]);
  const bot = telegram.bot();
  models.script(...answers);
  await writeFile(
    join(home, "parley.json5"),
    JSON.stringify({
      gateway: { port: 0 },
      models: {
        providers: {
          demo: {
            api: "openai-completions",
            baseUrl: `${models.url}/v1`,
            apiKey: "demo",
            models: [{ id: "m1" }],
          },
        },
      },
      agents: { defaults: { model: { primary: "demo/m1" } } },
      channels: {
        telegram: {
          botToken: bot.token,
          apiRoot: telegram.url,
          dmPolicy: "allowlist",
          allowFrom: [String(alice)],
        },
      },
    }),
  );
  let daemon = startDaemon(home);
  const person = telegram.as({ id: alice, name: "Alice" });
  let shown = 0;

  const say = (text: string): void => {
    person.says(text);
    console.log(`\nAlice   ${text}`);
    shown += 1;
  };
  const answer = async (): Promise<void> => {
    const untilMs = clock.mono() + patienceMs;
    for (;;) {
      const message = telegram.visible(alice)[shown];
      const calm = models.requests().length >= Math.ceil((shown + 1) / 2);
      if (message?.byBot === true && calm) {
        await sleep(clock, 1_500);
        console.log(`Parley  ${(telegram.visible(alice)[shown]?.text ?? "").replaceAll("\n", "\n        ")}`);
        shown += 1;
        return;
      }
      if (clock.mono() > untilMs) throw new Error("the daemon did not answer; see its log above");
      await sleep(clock, 50);
    }
  };

  try {
    console.log("A fake Telegram, a fake model server and the real daemon, all on this machine.");
    say("Hi, who are you?");
    await answer();
    say("What happened to my message?");
    await answer();
    say("And if you are killed right now?");
    await sleep(clock, 300);
    console.log("        (kill -9, and a new start)");
    daemon.kill("SIGKILL");
    daemon = startDaemon(home);
    await answer();
    console.log("\nThat was all. `npm start` runs it for you.");
  } finally {
    const ended = new Promise((resolve) => daemon.once("exit", resolve));
    daemon.kill("SIGTERM");
    await ended;
    await Promise.all([telegram.close(), models.close()]);
    await rm(home, { recursive: true, force: true });
  }
}

function startDaemon(home: string) {
  return spawn(process.execPath, [daemonMain], {
    stdio: "ignore",
    env: { PATH: process.env["PATH"], HOME: home, PARLEY_HOME: home },
  });
}

await demo();
