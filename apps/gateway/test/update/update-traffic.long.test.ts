// From the version before to this one and back, again and again, on real daemons while people write on Telegram, on Discord and at the web
// page; the updater and the gateway are killed at random instants. Nothing is lost, nothing comes twice, and never is half a version in force.
import { generateKeyPairSync } from "node:crypto";
import { appendFileSync, cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { discordSide, type DiscordSide } from "../crash/discord-side.ts";
import { seeded } from "../crash/mixed-traffic.ts";
import { answerTo, judge, said } from "../crash/said.ts";
import { ageBoots, lookAt } from "../crash/store-look.ts";
import { webPerson } from "../crash/web-person.ts";
import { cleanUp, eventually, freshHome, testToken } from "../e2e/daemon.ts";
import { findableGateway } from "../e2e/operator.ts";
import { world, type World } from "../e2e/world.ts";
import { installation, keptUp, newer, older, type Installation, type Kept } from "./installed.ts";

let installed: Installation;
let w: World;
let side: DiscordSide;
let home: string;
let kept: Kept;
beforeAll(async () => {
  installed = await installation();
}, 600_000);
afterAll(() => installed.close());
beforeEach(async () => {
  [w, side] = await Promise.all([world(), discordSide()]);
  w.models.reply((call) => ({ text: answerTo(call), delayMs: 100 }));
  home = await freshHome();
});
afterEach(async () => {
  await kept.stop();
  await Promise.all([w.close(), side.close()]);
  await cleanUp();
});

interface Speaker {
  readonly who: string;
  count: number;
  readonly say: (text: string) => void;
  readonly texts: () => readonly string[];
}

/** Starts the older version, with people who talk until they are told to stop. */
async function traffic(config: object = {}) {
  const { gateway } = await findableGateway();
  const { port } = gateway as { readonly port: number };
  const channels = { ...(w.config["channels"] as object), discord: side.config };
  const update = { url: installed.releases };
  writeFileSync(
    join(home, "parley.json5"),
    JSON.stringify({ ...w.config, gateway, channels, update, ...config }),
  );
  kept = keptUp(installed, home);
  const page = webPerson("web-ann");
  page.meets({ url: `http://127.0.0.1:${port}`, token: testToken });
  await side.live();
  const person = side.speaker("201", "private");
  const all: Speaker[] = [
    ...[101, 102].map((id): Speaker => {
      const telegram = w.telegram.as(id);
      const texts = (): readonly string[] =>
        w.telegram.calls("sendMessage").length === 0 ? [] : w.answers(id).map(({ text }) => text);
      return { who: `telegram ${id}`, count: 0, say: (text) => void telegram.says(text), texts };
    }),
    { who: "discord", count: 0, say: person.say, texts: person.texts },
    // Closed before it was acknowledged: the test is over.
    { who: "web", count: 0, say: (text) => void page.says(text).catch(() => undefined), texts: page.heard },
  ];
  const waiting = ({ texts, count }: Speaker): number => judge(texts(), count).lost.length;
  for (const speaker of all) speaker.say(said((speaker.count += 1)));
  const heard = (): Promise<unknown> =>
    eventually(() => all.every((speaker) => waiting(speaker) === 0), 120_000, "every answer").catch(
      (cause: unknown) => {
        const left = all.map(({ who, texts, count }) => ({ who, ...judge(texts(), count) }));
        throw new Error(`${JSON.stringify(left)}\n${kept.log().slice(-6_000)}`, { cause });
      },
    );
  await heard();
  let talking = true;
  const talks = all.map(async (speaker) => {
    while (talking) {
      if (waiting(speaker) < 3) speaker.say(said((speaker.count += 1)));
      await pause(200);
    }
  });
  return {
    heard,
    async end() {
      talking = false;
      await Promise.all(talks);
      await heard();
      await kept.stop();
      page.close();
      return all.map(({ who, texts, count }) => ({ who, count, ...judge(texts(), count) }));
    },
  };
}

const inForce = async (): Promise<string> => {
  const { out } = await kept.parley("--version").ended;
  return out.trim();
};

function expectFlawless(verdicts: Awaited<ReturnType<Awaited<ReturnType<typeof traffic>>["end"]>>): void {
  console.log(verdicts.map(({ who, count }) => `${who}: ${count}`).join(", "));
  const look = lookAt(home);
  expect(look).toMatchObject({ openRows: 0, openDeliveries: 0, dead: [] });
  for (const { who, lost, doubled, others } of verdicts) {
    // What Telegram showed twice after a kill is what the store flagged.
    const unknown = who.startsWith("telegram")
      ? doubled.filter((n) => look.flagged.some((each) => each.includes(`re m${n}`)))
      : [];
    expect({ who, lost, doubled: doubled.filter((n) => !unknown.includes(n)), others }).toEqual({
      who,
      lost: [],
      doubled: [],
      others: [],
    });
  }
}

test(
  "to the newer version and back, with its schema: nothing lost, nothing twice",
  { timeout: 1_200_000 },
  async () => {
    const people = await traffic();
    for (const to of [newer, older, newer]) {
      const isBack = to === older;
      if (isBack) {
        const refused = await kept.parley("update", "--to", to, "--watch", "3").ended;
        expect(refused).toMatchObject({
          code: 1,
          err: expect.stringMatching(/does not know the database.*--restore-backup/s) as string,
        });
        expect(await inForce()).toBe(newer);
        await people.heard();
        break;
      }
      const done = await kept.parley("update", "--to", to, "--watch", "3").ended;
      expect(done, kept.log().slice(-4_000)).toMatchObject({
        code: 0,
        out: expect.stringContaining(`${to} is in force`) as string,
      });
      expect(await inForce()).toBe(to);
    }
    expectFlawless(await people.end());
  },
);

test(
  "a version that is worse goes back by itself under traffic, with the whole database",
  { timeout: 1_200_000 },
  async () => {
    const people = await traffic();
    // Of the account that heard before, the platform takes nothing more once the new version has come up.
    const update = kept.parley("update", "--to", newer, "--watch", "6");
    await eventually(() => w.telegram.calls("getMe").length > 1, 240_000, "the new version");
    const body = { ok: false, error_code: 401, description: "Unauthorized" };
    w.telegram.inject({ method: "getUpdates", times: null, trouble: { kind: "answer", status: 401, body } });
    const { code, err } = await update.ended;
    w.telegram.heal();
    expect([code, err]).toEqual([1, expect.stringMatching(/in force again/)]);
    expect(await inForce()).toBe(older);
    expectFlawless(await people.end());
  },
);

test(
  "killed at random, updater and gateway, and gone on with: nothing lost, nothing twice",
  { timeout: 2_400_000 },
  async () => {
    const seed = Number(process.env["PARLEY_SEED"] ?? Date.now() % 1_000_000);
    console.log(`seed ${seed}`);
    const chance = seeded(seed);
    const people = await traffic();
    for (let n = 0; n < 6; n += 1) {
      const update = kept.parley("update", "--to", newer, "--watch", "3");
      await pause(chance() * 15_000);
      if (chance() < 0.5) update.child.kill("SIGKILL");
      else {
        const pid = kept.pid();
        if (pid !== null) process.kill(pid, "SIGKILL");
      }
      await update.ended;
      await eventually(() => kept.pid() !== null, 120_000, "a gateway that runs");
      await people.heard();
      ageBoots(home);
      if ((await inForce()) === newer) break;
    }
    const last = await kept.parley("update", "--to", newer, "--watch", "3").ended;
    expect(last.code, last.err).toBe(0);
    expect(await inForce()).toBe(newer);
    expectFlawless(await people.end());
  },
);

test(
  "a file that is another, and a release that is not signed by the key, are refused and change nothing",
  { timeout: 600_000 },
  async () => {
    const people = await traffic();
    const other = join(home, "other");
    cpSync(join(installed.releases, newer), other, { recursive: true });
    appendFileSync(join(other, `parley-${newer}.tar.gz`), "x");
    const wrong = await kept.parley("update", "--from", other).ended;
    expect(wrong).toMatchObject({
      code: 1,
      err: expect.stringMatching(/is not the file of the release.*Nothing was changed/s) as string,
    });
    const { publicKey } = generateKeyPairSync("ed25519");
    const pem = publicKey.export({ type: "spki", format: "pem" });
    expect((await kept.parley("config", "set", "update.publicKey", JSON.stringify(pem)).ended).code).toBe(0);
    const unsigned = await kept.parley("update").ended;
    expect(unsigned).toMatchObject({ code: 1, err: expect.stringContaining("is not signed") as string });
    expect(await inForce()).toBe(older);
    expectFlawless(await people.end());
  },
);
