// An OpenClaw home moves in: the import carries everything once, and the first
// message on Telegram goes on with the old conversation.
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseDocument } from "@parley/config";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { cleanUp, freshHome, startDaemon } from "../e2e/daemon.ts";
import { findableGateway, parley, parleyJson } from "../e2e/operator.ts";
import { world, type World } from "../e2e/world.ts";
import { alice, openclawHome, secrets } from "./openclaw-home.ts";

let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  await cleanUp();
  await w.close();
});

interface Report {
  readonly changes: boolean;
  readonly met: readonly {
    readonly what: string;
    readonly name: string;
    readonly fate: string;
    readonly to?: string;
    readonly why?: string;
  }[];
}

async function contents(folder: string): Promise<string> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = names.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  return (
    await Promise.all(files.toSorted().map(async (path) => `${path}\n${await readFile(path, "utf8")}`))
  ).join("\n");
}

test("an OpenClaw home moves in, and its conversation goes on where it ended", async () => {
  const bot = (
    w.config["channels"] as { readonly telegram: { readonly botToken: string; readonly apiRoot: string } }
  ).telegram;
  const { fake } = (
    w.config["models"] as { readonly providers: { readonly fake: { readonly baseUrl: string } } }
  ).providers;
  const source = await openclawHome({
    telegram: { botToken: bot.botToken, apiRoot: bot.apiRoot },
    providerUrl: fake.baseUrl,
  });
  onTestFinished(() => rm(source, { recursive: true, force: true }));
  const untouched = await contents(source);
  const home = await freshHome();
  await writeFile(join(home, "parley.json5"), JSON.stringify(await findableGateway()));
  const done = await parley(home, "import", "openclaw", source, "--apply", "--all");
  expect(done).toMatchObject({ exitCode: 0, err: "" });
  for (const value of [bot.botToken, ...Object.values(secrets)]) expect(done.out).not.toContain(value);
  expect(await readFile(join(home, "parley.json5"), "utf8")).not.toContain(bot.botToken);
  expect(await readFile(join(home, "workspace", "SOUL.md"), "utf8")).toBe("You are Molty.\n");

  const again = (await parleyJson(home, "import", "openclaw", source, "--apply")) as Report;
  expect(again.changes).toBe(false);
  expect(await contents(source)).toBe(untouched);
  const fates = new Map(again.met.map(({ name, fate }) => [name, fate]));
  expect(fates.get("channels.whatsapp.dmPolicy")).toBe("refused");
  expect(fates.get("agents.defaults.flyingCars")).toBe("unknown");
  expect(fates.get("agents.defaults.typingMode")).toBe("refused");
  expect(fates.get("long-ago")).toBe("refused");
  expect(fates.get("elsewhere")).toBe("refused");
  expect(fates.get("agent:main:main")).toBe("there");

  let asked = "";
  w.models.reply(async ({ body }) => {
    asked = JSON.stringify(body);
    return "It is Zimt.";
  });
  const { value: config } = parseDocument(await readFile(join(home, "parley.json5"), "utf8"));
  await startDaemon({ home, config: config as object });
  w.telegram.as(alice).says("What is my cat called?");
  expect(await w.answered(alice, 1)).toEqual(["It is Zimt."]);
  expect(asked).toContain("My cat is called Zimt.");
  expect(asked).toContain("I will remember Zimt.");
  expect(asked).not.toContain("a branch that was left");
  const { jobs } = (await parleyJson(home, "cron", "list")) as {
    readonly jobs: readonly { readonly id: string; readonly delivery: object }[];
  };
  expect(jobs).toMatchObject([
    { id: "0b6f-tea", delivery: { kind: "announce", to: { peer: String(alice), kind: "dm" } } },
  ]);
});
