// What stays of a long time: people on Telegram, on Discord and at web pages say 50,000 messages to one
// daemon, each the next one once the one before it is answered. Memory, handles and database are read all the
// while; a day passes for the database every so many messages. `node bench/soak.ts [--messages 50000] [--day
// 2000] [--minutes 90] [--svg docs/soak.svg]`; prints a table, and ends with 1 when an answer is missing or
// double, or when something grew.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { sleep, type EventFrame, type ResponseFrame } from "@parley/protocol";
import { fakeDiscord, type FakeDiscord } from "@parley/testkit";
import { clock, fakes, homeFor, startDaemon, type Fakes } from "./daemon/daemon.ts";
import { plot, type Line } from "./daemon/plot.ts";

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "50000" },
    day: { type: "string", default: "2000" },
    minutes: { type: "string", default: "90" },
    svg: { type: "string", default: "" },
    points: { type: "string", default: "" },
  },
});
const wanted = Number(values.messages);
const perDay = Number(values.day);
const people = { telegram: 80, discord: 40, web: 20 };
const dayMs = 86_400_000;
const points = 100;
/** What is warm by then: the first tenth is not held against the rest. */
const warmShare = 0.1;

interface Speaker {
  said: number;
  heard: number;
  wrong: number;
  readonly say: (text: string) => void;
}

interface Point {
  readonly answered: number;
  readonly residentMb: number;
  readonly handles: number;
  readonly databaseMb: number;
  readonly homeMb: number;
}

/** The first that were not expected, as they came. */
const odd: string[] = [];

/** Somebody's next answer: it has to be the one to what was said last, once. */
function hears(speaker: Speaker | undefined, text: string): boolean {
  if (speaker === undefined) return false;
  if (text === `re: ${speaker.said}` && speaker.heard < speaker.said) {
    speaker.heard = speaker.said;
    return true;
  }
  speaker.wrong += 1;
  if (odd.length < 10) odd.push(`"${text}" while ${speaker.said} was said and ${speaker.heard} heard`);
  return false;
}

async function webSpeaker(url: string, token: string, peer: string, onAnswer: (text: string) => void) {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}/ws`);
  let nth = 0;
  const send = (method: string, params: object): void =>
    socket.send(JSON.stringify({ type: "req", id: String((nth += 1)), method, params }));
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("error", () => reject(new Error("the control plane cannot be reached")));
    socket.addEventListener("message", ({ data }) => {
      const frame = JSON.parse(String(data)) as ResponseFrame | EventFrame;
      if (frame.type === "res") return frame.ok ? resolve() : reject(new Error(JSON.stringify(frame.error)));
      if (frame.event !== "chat.message") return;
      const { role, text } = frame.payload as { readonly role: string; readonly text: string };
      if (role !== "user") onAnswer(text);
    });
    socket.addEventListener("open", () =>
      send("connect", {
        protocol: { min: 1, max: 1 },
        client: { name: "soak", version: "0" },
        auth: { token },
        peer,
      }),
    );
  });
  return {
    say: (text: string) => send("chat.send", { text, idempotencyKey: `${peer}-${text}` }),
    close: () => socket.close(),
  };
}

const answered = ({ models }: Fakes): void => {
  // It keeps every request whole, which nobody reads here.
  models.reset();
  models.reply((call) => `re: ${/(\d+)\s*$/.exec(call.lastUserText)?.[1] ?? "?"}`);
};

function speakersOn(world: Fakes, discord: FakeDiscord) {
  const bot = discord.bot();
  const guild = discord.guild({ name: "Tea House" });
  const telegram = new Map<number, Speaker>();
  for (let id = 1_001; id <= 1_000 + people.telegram; id += 1) {
    const person = world.telegram.as(id);
    telegram.set(id, { said: 0, heard: 0, wrong: 0, say: (text) => void person.says(text) });
  }
  const onDiscord = new Map<string, Speaker>();
  for (let n = 0; n < people.discord; n += 1) {
    const person = discord.as({ id: String(2_000 + n), name: `Person ${n}` });
    const isPrivate = n % 2 === 0;
    const channel = isPrivate ? person.dm() : discord.channel({ guild, name: `room-${n}` });
    const say = (text: string): void =>
      void (isPrivate ? person.says(text) : person.says(`<@${bot.id}> ${text}`, { channel }));
    onDiscord.set(channel, { said: 0, heard: 0, wrong: 0, say });
  }
  return { telegram, onDiscord };
}

/** The bytes of all files below a folder. */
function bytesBelow(folder: string): number {
  let sum = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    try {
      sum += statSync(join(entry.parentPath, entry.name)).size;
    } catch {
      // It went meanwhile.
    }
  }
  return sum;
}

/** All that ended did so a day earlier. */
function letDayPass(database: string): void {
  const db = new DatabaseSync(database, { timeout: 5_000 });
  for (const [table, column] of [
    ["rows", "ended"],
    ["turns", "ended"],
    ["deliveries", "done"],
  ] as const)
    db.exec(`update ${table} set ${column} = ${column} - ${dayMs} where ${column} is not null`);
  db.exec(`update cells set expires = expires - ${dayMs} where key like 'prompt:%' and expires is not null`);
  db.close();
}

const world = await fakes();
const discord = await fakeDiscord({ rateLimits: false });
const home = homeFor(world);
const file = join(home.path, "parley.json5");
const config = JSON.parse(readFileSync(file, "utf8")) as { channels: { [name: string]: object } };
config.channels["discord"] = {
  token: discord.bot().token,
  apiRoot: discord.apiRoot,
  dmPolicy: "open",
  allowFrom: ["*"],
  groupPolicy: "open",
  pacing: "off",
  streaming: "off",
};
writeFileSync(file, JSON.stringify(config));
const pages: { close(): void }[] = [];
const seen: Point[] = [];
try {
  const daemon = await startDaemon(home);
  answered(world);
  const { telegram, onDiscord } = speakersOn(world, discord);
  const [port = "", , , token = ""] = readFileSync(join(home.path, "gateway-port"), "utf8").trim().split(" ");
  let done = 0;
  const web: Speaker[] = [];
  for (let n = 0; n < people.web; n += 1) {
    const speaker: Speaker = { said: 0, heard: 0, wrong: 0, say: (text) => page.say(text) };
    const page = await webSpeaker(`http://127.0.0.1:${port}`, token, `web-soak-${n}`, (text) => {
      if (hears(speaker, text)) done += 1;
    });
    pages.push(page);
    web.push(speaker);
  }
  const all = [...telegram.values(), ...onDiscord.values(), ...web];
  while (!discord.gateway.sessions().some((session) => session.isConnected)) await sleep(clock, 50);

  const database = join(home.path, "state.db");
  const measure = (): Point => ({
    answered: done,
    residentMb: daemon.residentMb(),
    handles: readdirSync(`/proc/${daemon.pid}/fd`).length,
    databaseMb: (statSync(database).size + statSync(`${database}-wal`).size) / 1e6,
    homeMb: bytesBelow(home.path) / 1e6,
  });
  const begun = clock.mono();
  const untilMono = begun + Number(values.minutes) * 60_000;
  let total = 0;
  let days = 0;
  let sends = 0;
  let creates = 0;
  let lastMono = begun;
  while (done < wanted && clock.mono() < untilMono) {
    for (const speaker of all) {
      if (speaker.said > speaker.heard || total >= wanted) continue;
      speaker.said += 1;
      total += 1;
      speaker.say(`message ${speaker.said}`);
    }
    await sleep(clock, 5);
    const before = done;
    for (
      const calls = world.telegram.calls();
      sends < calls.length && calls[sends]?.answer !== undefined;
      sends += 1
    ) {
      const { method, params } = calls[sends] ?? { method: "", params: {} };
      if (method !== "sendMessage") continue;
      const { chat_id: chat, text } = params as { readonly chat_id?: unknown; readonly text?: unknown };
      if (hears(telegram.get(Number(chat)), String(text))) done += 1;
    }
    for (
      const calls = discord.calls();
      creates < calls.length && calls[creates]?.acted === true;
      creates += 1
    ) {
      const { route, path, body } = calls[creates] ?? { route: "", path: "", body: null };
      if (route !== "POST /channels/:channel/messages") continue;
      const channel = /channels\/(\d+)\//.exec(path)?.[1] ?? "";
      if (hears(onDiscord.get(channel), String((body as { content?: unknown } | null)?.content))) done += 1;
    }
    if (done > before) lastMono = clock.mono();
    if (clock.mono() - lastMono > 120_000) break;
    if (Math.floor(done / perDay) > days) {
      days = Math.floor(done / perDay);
      letDayPass(database);
      answered(world);
    }
    if (done >= (seen.length * wanted) / points) {
      seen.push(measure());
      if (values.points !== "") writeFileSync(values.points, `${JSON.stringify(seen)}\n`);
    }
  }
  const minutes = (clock.mono() - begun) / 60_000;
  const cpuMs = (daemon.cpuSeconds() * 1_000) / Math.max(1, done);
  seen.push(measure());
  const missing = total - done;
  const wrong = all.reduce((sum, speaker) => sum + speaker.wrong, 0);
  const warm = seen.filter((point) => point.answered >= done * warmShare);
  const at = (share: number): Point =>
    warm[Math.min(warm.length - 1, Math.floor(warm.length * share))] as Point;
  const row = ({ residentMb, handles, databaseMb, homeMb }: Point): object => ({
    "resident MB": Math.round(residentMb),
    handles,
    "database MB": Math.round(databaseMb * 10) / 10,
    "state folder MB": Math.round(homeMb * 10) / 10,
  });
  console.table({ "a tenth": row(at(0)), half: row(at(0.5)), end: row(at(1)) });
  console.log(
    `${done} messages of ${all.length} people in ${minutes.toFixed(1)} min, ${cpuMs.toFixed(1)} ms of CPU each, ${days} days; ${missing} unanswered, ${wrong} answers too many.`,
  );
  for (const each of odd) console.log(`not expected: ${each}`);
  if (values.svg !== "") {
    const line = (name: string, of: keyof Point): Line => ({
      name,
      points: seen.map((point) => [point.answered, point[of]] as const),
    });
    writeFileSync(
      values.svg,
      plot(`${done.toLocaleString("en")} messages over Telegram, Discord and the web page`, [
        line("resident MB", "residentMb"),
        line("handles", "handles"),
        line("database MB", "databaseMb"),
      ]),
    );
  }
  const grew = at(1).residentMb > 1.25 * at(0).residentMb + 10 || at(1).handles > at(0).handles + 20;
  await daemon.stop();
  if (missing > 0 || wrong > 0 || grew) process.exitCode = 1;
} finally {
  for (const page of pages) page.close();
  await world.close();
  await discord.close();
  home.remove();
}
