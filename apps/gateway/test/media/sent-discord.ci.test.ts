// Everything that Parley does on Discord beside text, through the real daemon: deliveries as a tool queues
// them.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Address, Content, MediaFile, OutboxAction, Part } from "@parley/protocol";
import { oggOpusFile } from "@parley/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleanUp, eventually, freshHome } from "../e2e/daemon.ts";
import { discordWorld, type DiscordWorld } from "../e2e/discord-world.ts";
import { plantContents } from "./plant.ts";

const threads = "POST /channels/:channel/threads";
let w: DiscordWorld;
let room: string;
let forum: string;
let posts: string;

const at = (peer: string): Address => ({ channel: "discord", account: "default", kind: "channel", peer });
const reply = (parts: readonly Part[]): Content => ({ v: 1, kind: "reply", parts });
const say = (markdown: string): Content => reply([{ kind: "text", markdown }]);
const act = (action: OutboxAction): Content => ({ v: 1, kind: "action", action });
const voice: MediaFile = { path: "v.ogg", name: "v.ogg", mediaType: "audio/ogg", bytes: 1 };
const long = Array.from({ length: 900 }, (_, n) => `word${n}`).join(" ");

beforeAll(async () => {
  w = await discordWorld();
  const guild = w.discord.guild({ name: "Tea House" });
  w.discord.emoji(guild, "tea_cup");
  room = w.discord.channel({ guild, name: "general" });
  forum = w.discord.channel({ guild, kind: "forum", tags: ["Green"] });
  posts = w.discord.channel({ guild, kind: "forum" });
  const home = await freshHome();
  await mkdir(join(home, "media"), { recursive: true });
  await writeFile(join(home, "media", "v.ogg"), oggOpusFile(Array.from({ length: 100 }, () => 40)));
  await plantContents(home, at(posts), [["long", say(long)]]);
  await plantContents(home, at(forum), [
    [
      "post",
      act({
        kind: "createThread",
        title: "Which tea?",
        tags: ["green"],
        parts: [
          { kind: "text", markdown: "I ask for a friend." },
          { kind: "text", markdown: "It is urgent." },
        ],
      }),
    ],
    ["fixed", act({ kind: "edit", target: { delivery: "post" }, markdown: "I ask for myself." })],
    ["kept", act({ kind: "pin", target: { delivery: "post" }, pinned: true })],
  ]);
  await plantContents(home, at(room), [
    ["a", say("draft")],
    ["b", act({ kind: "edit", target: { delivery: "a" }, markdown: "final" })],
    ["c", act({ kind: "react", target: { delivery: "a" }, emoji: ":tea_cup:" })],
    ["thread", act({ kind: "createThread", title: "Plans", parts: [{ kind: "text", markdown: "first" }] })],
    ["d", act({ kind: "react", target: { delivery: "a" }, emoji: ":coffee:" })],
    ["e", { ...reply([{ kind: "voice", file: voice }]), replyTo: { delivery: "a" } } as Content],
    ["last", say("last")],
  ]);
  w.discord.inject({ method: threads, when: "after", times: 2, trouble: { kind: "reset" } });
  await w.start({ home });
  await eventually(() => w.answers(room).some(({ text }) => text === "last"), 30_000, "the last message");
  const [post] = w.discord.visible(forum);
  await eventually(() => w.discord.visible(post?.thread?.id ?? "")[0]?.pinned === true, 30_000, "the pin");
  await eventually(
    () => w.discord.visible(w.discord.visible(posts)[0]?.thread?.id ?? "").length >= 3,
    30_000,
    "all of the long text",
  );
}, 300_000);
afterAll(async () => {
  await cleanUp();
  expect(w.discord.violations()).toEqual([]);
  await w.close();
});

test("an edit, a reaction and a quote find what was sent before them; one that is refused holds nothing up", () => {
  const [first, spoken, last] = w.answers(room);
  expect(first).toMatchObject({ text: "final", edited: true, reactions: ["tea_cup"] });
  expect(spoken).toMatchObject({ files: ["v.ogg"], voiceSeconds: 2, replyTo: first?.id });
  expect(last?.text).toBe("last");
});

test("a thread and a post whose answers were lost are there once, with what belongs into them", () => {
  expect(w.discord.calls(threads).length).toBeGreaterThanOrEqual(3);
  const begun = w.discord.visible(room).filter(({ kind, text }) => kind === "service" && text === "Plans");
  expect(begun).toHaveLength(1);
  const [post, ...others] = w.discord.visible(forum);
  expect(others).toEqual([]);
  expect(post).toMatchObject({ text: "I ask for myself.", pinned: true, thread: { title: "Which tea?" } });
  const inside = w.discord.visible(post?.thread?.id ?? "").filter(({ kind }) => kind === "text");
  expect(inside.map(({ text }) => text)).toEqual(["I ask for myself.", "It is urgent."]);
});

test("a text of several messages to a forum is one post", () => {
  const [post, ...others] = w.discord.visible(posts);
  expect(others).toEqual([]);
  const inside = w.discord.visible(post?.thread?.id ?? "");
  expect(inside.length).toBeGreaterThan(2);
  expect(inside.map(({ text }) => text).join(" ")).toBe(long);
});
