// Somebody's life with the agent, told on the stage: talks in private and in a group, notes, a pairing, a
// picture and a log. What is forgotten or handed out of it is looked for byte by byte.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { loadConfig } from "@parley/config";
import { memoryEngine } from "@parley/memory";
import { silentLog, systemIds, type Inbound } from "@parley/protocol";
import { peopleStored } from "../../src/people/forget-person.ts";
import type { PersonPorts } from "../../src/people/forget-person.ts";
import type { Asked, Answer } from "./scripted-model.ts";
import { stage, type Stage, type StageOptions } from "./stage.ts";

export const zed = "777000123";
export const inGroup = {
  address: { channel: "telegram", account: "default", kind: "group", peer: "g1" },
  sender: { id: zed, name: "Zebedee Quux", isBot: false },
} satisfies Partial<Inbound>;
export const olgaInGroup = { address: inGroup.address } satisfies Partial<Inbound>;
export const mediaName = `${"ab".repeat(32)}.png`;
/** Nothing with one of these is left. */
export const traces = [
  zed,
  "Zebedee",
  "Quux",
  "mauve submarine",
  "pelican recipe",
  "velvet hammock",
  "tin whistle",
];

/** "NAME {args}" is called; everything else is repeated, with the speaker's words in it. */
function script({ messages, text, users }: Asked): Answer {
  const call = /^(write|sessions_spawn) (\{.*\})$/m.exec(users.at(-1) ?? "");
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  const called = messages.slice(lastUser).some(({ role }) => role === "tool");
  if (call !== null && !called)
    return { calls: { name: call[1] ?? "", args: JSON.parse(call[2] ?? "{}") as never } };
  return `I heard: ${text.split("\n").at(-1)}`;
}

export async function begin(config: object = {}, more: Partial<StageOptions> = {}): Promise<Stage> {
  const s = await stage({
    catalogue: true,
    ...more,
    config: { commands: { ownerAllowFrom: ["telegram:olga", `telegram:${zed}`] }, ...config },
    ...("channels" in config
      ? {}
      : { telegram: { groupPolicy: "open", groups: { "*": { requireMention: false } } } }),
  });
  s.model.answers(script);
  return s;
}

export async function people(s: Stage, config: object = {}, store: PersonPorts["store"] = s.store()) {
  const readFile = async (): Promise<string> => JSON.stringify(config);
  const loaded = await loadConfig({ env: {}, home: s.home, readFile });
  const memory = memoryEngine({ clock: s.clock });
  return peopleStored({
    config: loaded.config,
    store,
    memory,
    home: s.home,
    clock: s.clock,
    ids: systemIds(),
    log: silentLog,
  });
}

export async function withTraces(s: Stage): Promise<readonly string[]> {
  const files = await readdir(s.home, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const file of files) {
    if (!file.isFile()) continue;
    const path = join(file.parentPath, file.name);
    const bytes = await readFile(path);
    for (const trace of traces)
      if (bytes.includes(trace)) found.push(`${path.slice(s.home.length)}: ${trace}`);
  }
  return found;
}

/** Talks in private and in a group, notes, a pairing, a picture and a log. */
export async function lived(s: Stage): Promise<void> {
  await mkdir(join(s.home, "workspace"), { recursive: true });
  const zeb = s.person(zed);
  const name = { sender: inGroup.sender };
  await zeb.says("my mauve submarine is secret", name).gets(/mauve submarine/);
  await zeb
    .says('write {"path":"memory/shared/all.md","content":"- The pelican recipe is with thyme.\\n"}', name)
    .gets(/I heard/);
  const olga = s.person("olga", { chat: "g1" });
  await olga.says("good morning everybody", olgaInGroup).gets(/good morning/);
  const zebThere = s.person(zed, { chat: "g1" });
  await zebThere.says("the velvet hammock is mine", inGroup).gets(/good morning/, /velvet hammock/);
  await olga
    .says("what about the tin whistle?", {
      ...olgaInGroup,
      replyTo: {
        messageId: "m9",
        text: "the velvet hammock is mine",
        sender: "Zebedee Quux",
        toBot: false,
      },
      text: "Zebedee Quux, lend it to me",
    })
    .gets(/velvet hammock/, /lend it to me/);
  const { cells } = s.store();
  await cells.put(
    `paired:telegram:default:${zed}`,
    JSON.stringify({
      channel: "telegram",
      account: "default",
      senderId: zed,
      senderName: "Zebedee Quux",
      atMs: 1,
    }),
    {},
  );
  await cells.put("mcp-pins:x", JSON.stringify({ approvedBy: "telegram:olga" }), {});
  const files = {
    "logs/parley.log": [
      JSON.stringify({ msg: "received", rows: [`telegram:default:${zed}-1`] }),
      JSON.stringify({ msg: "received", rows: ["telegram:default:olga-1"] }),
      "",
    ].join("\n"),
    [`media/${mediaName}`]: "tin whistle",
    [`workspace/memory/people/telegram-${zed}/likes.md`]: "- likes the tin whistle\n",
    "workspace/memory/shared/other.md": "- The umbrella is in the hall.\n",
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(s.home, path)), { recursive: true });
    await writeFile(join(s.home, path), text);
  }
  const key = `agent:main:telegram:dm:${zed}` as never;
  await s.store().sessions.patch(key, { picture: mediaName });
}
