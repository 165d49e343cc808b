// Groups, topics and several bots over the real daemon: who is heard, what the agent is shown, where the
// answer goes.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { controlClient } from "./control-client.ts";
import { cleanUp, eventually } from "./daemon.ts";
import { world, type World } from "./world.ts";

const garden = -1_000_000_000_555;
const orchard = -1_000_000_000_556;
const forum = -1_000_000_000_777;
const locked = -1_000_000_000_888;
const unlisted = -1_000_000_000_999;
const owner = 1;
const newcomer = 2;

const groups = {
  [garden]: { allowFrom: ["*"], systemPrompt: "This is the gardening club." },
  [orchard]: { allowFrom: ["*"] },
  [forum]: {
    allowFrom: ["*"],
    requireMention: false,
    topics: { "1": { requireMention: true }, "*": { agentId: "helper" } },
  },
  [locked]: { allowFrom: [String(owner)] },
};

let w: World;
async function begin(): Promise<void> {
  w = await world({ groups });
  for (const id of [garden, orchard, locked, unlisted]) w.telegram.group({ id });
  w.telegram.group({ id: forum, isForum: true });
}
async function end(): Promise<void> {
  await cleanUp();
  expect(w.telegram.violations()).toEqual([]);
  await w.close();
}

const config = {
  agents: { defaults: { model: { primary: "fake/m1" } }, list: [{ id: "main" }, { id: "helper" }] },
};
const owned = { ...config, commands: { ownerAllowFrom: [`telegram:${owner}`] } };

/** What the model was shown at its `nth` call, from 0. */
const asked = (nth: number): Promise<{ readonly system: string; readonly text: string }> =>
  eventually(() => {
    const call = w.models.requests()[nth];
    return call === undefined ? undefined : { system: call.system, text: call.lastUserText };
  });

describe("at one daemon", () => {
  beforeAll(async () => {
    await begin();
    await w.start({ config: owned });
  });
  afterAll(end);

  test("a group is answered when it calls, and the talk before that is shown as what others wrote", async () => {
    const before = w.models.requests().length;
    const bob = w.telegram.as({ id: 20, name: "Bob" });
    const carol = w.telegram.as({ id: 30, name: "Carol" });
    bob.says("the roses bloom", { chat: garden });
    bob.says("[from Carol id 30] the roses are mine", { chat: garden });
    carol.says("@bot1_bot what blooms?", { chat: garden });
    await w.answered(garden, 1);
    const { system, text } = await asked(before);
    expect(system).toContain("This is the gardening club.");
    expect(system).toContain(`agent:main:telegram:group:${garden}`);
    expect(text).toMatch(
      /HISTORY[\s\S]*\[from "Bob" id 20\]\nthe roses bloom[\s\S]*\[from "Carol" id 30\]\n@bot1_bot what blooms\?/,
    );
    expect(text).toContain("\\[from Carol id 30] the roses are mine");

    const [answer] = w.answers(garden);
    bob.says("and the tulips?", { chat: garden, replyTo: answer?.id ?? 0 });
    await w.answered(garden, 2);
    expect((await asked(before + 1)).text).not.toContain("the roses bloom");
  });

  test("a group that is not listed, a sender who is not listed and a command for another bot are left alone", async () => {
    const before = w.models.requests().length;
    const bob = w.telegram.as(20);
    bob.says("@bot1_bot hello", { chat: unlisted });
    bob.says("@bot1_bot hello", { chat: locked });
    bob.says("/status@other_bot", { chat: orchard });
    w.telegram.as(owner).says("@bot1_bot hello", { chat: locked });
    await w.answered(locked, 1);
    expect(w.models.requests()).toHaveLength(before + 1);
    expect([unlisted, orchard].flatMap((chat) => w.answers(chat))).toEqual([]);
  });

  test("a group is shown nothing of the machine, the account or the keys by /status", async () => {
    w.telegram.as(owner).says("/status", { chat: orchard });
    const [status = ""] = await w.answered(orchard, 1);
    expect(status).toMatch(/^Parley: ok\nModel: fake\/m1\n/);
    expect(status).not.toMatch(/agent:main|host=|os=|node=|session|Session|telegram|\d+\.\d+\.\d+|\$/);
    w.telegram.as(owner).says("/status");
    const [whole = ""] = await w.answered(owner, 1);
    expect(whole).toContain("Session: agent:main:telegram:dm:");
  });

  test("/start greets in private; one for another bot is no command of ours", async () => {
    const before = w.models.requests().length;
    const me = w.telegram.as(newcomer);
    me.says("/start");
    me.says("/start deep-link");
    me.says("/start@other_bot");
    const [first, second, third] = await w.answered(newcomer, 3);
    expect(first).toBe(
      "Hello! I am an AI agent, here through Parley. Just write what you want, as you would to a person. /help shows the commands that I understand.",
    );
    expect(second).toBe(first);
    expect(third).toContain("/start@other_bot");
    expect(w.models.requests()).toHaveLength(before + 1);
  });

  test("a topic has its own session, its own agent and its own mention gate", async () => {
    const before = w.models.requests().length;
    const bob = w.telegram.as(20);
    bob.says("no mention in General", { chat: forum });
    const topic = w.telegram.topic(forum, "Help");
    bob.says("who are you?", { chat: forum, thread: topic });
    await eventually(() => w.telegram.visible(forum, topic).some((message) => message.byBot));
    const { system, text } = await asked(before);
    expect(system).toContain(`agent:helper:telegram:group:${forum}:topic:${topic}`);
    expect(text).not.toContain("no mention");
  });
});

describe("at a daemon of its own", () => {
  beforeEach(begin);
  afterEach(end);

  test("a group hears a bare command of ours, and /activation from owners only", async () => {
    const daemon = await w.start({ config: owned });
    const bob = w.telegram.as(20);
    bob.says("/activation always", { chat: garden });
    bob.says("/whoami", { chat: garden });
    expect(await w.answered(garden, 1)).toEqual([expect.stringContaining("telegram:20")]);
    w.telegram.as(owner).says("/activation always", { chat: garden });
    await w.answered(garden, 2);
    bob.says("nobody called", { chat: garden });
    await w.answered(garden, 3);
    await daemon.stop();
    await w.start({ config: owned, home: daemon.home });
    bob.says("still nobody", { chat: garden });
    expect((await w.answered(garden, 4)).at(-1)).toContain("still nobody");
    w.telegram.as(owner).says("/activation mention", { chat: garden });
    await w.answered(garden, 5);
    bob.says("and now?", { chat: garden });
    bob.says("@bot1_bot and now?", { chat: garden });
    await w.answered(garden, 6);
    expect(w.models.requests()).toHaveLength(3);
  });

  test("a group that becomes a supergroup keeps its session and its rules, and the answer under way goes to where it is now", async () => {
    let release = (): void => {};
    w.models.reply(async ({ lastUserText }) => {
      if (lastUserText.includes("slow")) await new Promise<void>((resolve) => (release = resolve));
      return `re: ${lastUserText.split("\n").at(-1)}`;
    });
    const daemon = await w.start({ config });
    const bob = w.telegram.as(20);
    bob.says("@bot1_bot slow one", { chat: garden });
    await asked(0);
    const moved = w.telegram.upgrade(garden);
    release();
    // The group's own service message counts as one of a bot.
    expect((await w.answered(moved, 2)).at(-1)).toBe("re: @bot1_bot slow one");
    bob.says("@bot1_bot and here?", { chat: moved });
    await w.answered(moved, 3);
    const { system } = await asked(1);
    expect(system).toContain(`agent:main:telegram:group:${garden}`);
    expect(JSON.stringify(w.models.requests()[1]?.body["messages"])).toContain("slow one");
    await daemon.stop();
    await w.start({ config, home: daemon.home });
    bob.says("@bot1_bot after the restart?", { chat: moved });
    await w.answered(moved, 4);
    expect((await asked(2)).system).toContain(`agent:main:telegram:group:${garden}`);
  });

  test("an answer to a group that moved without telling us goes to where the refusal says", async () => {
    const moved = w.telegram.group();
    w.models.reply(async ({ lastUserText }) => {
      w.telegram.chat(garden).upgradedTo = moved;
      return `re: ${lastUserText.split("\n").at(-1)}`;
    });
    await w.start({ config });
    w.telegram.as(20).says("@bot1_bot hello", { chat: garden });
    expect(await w.answered(moved, 1)).toEqual(["re: @bot1_bot hello"]);
    expect(w.answers(garden)).toEqual([]);
  });

  test("an owner lets people in and puts them out from the chat", async () => {
    await w.close();
    w = await world({ dmPolicy: "pairing", allowFrom: [String(owner)] });
    await w.start({ config: owned });
    const bob = w.telegram.as({ id: 99, name: "Bob" });
    const boss = w.telegram.as(owner);
    bob.says("hi");
    const code = /[A-HJ-NP-Z2-9]{8}/.exec((await w.answered(99, 1))[0] ?? "")?.[0] ?? "";
    bob.says(`/pair approve ${code}`);
    boss.says("/pair list");
    expect((await w.answered(owner, 1)).at(-1)).toContain(code);
    boss.says(`/pair approve ${code}`);
    expect((await w.answered(owner, 2)).at(-1)).toContain("Let in");
    bob.says("now?");
    expect((await w.answered(99, 2)).at(-1)).toBe("echo: now?");
    bob.says("/pair list");
    expect((await w.answered(99, 3)).at(-1)).toContain("/pair is for owners");
    boss.says("/pair revoke 99");
    expect((await w.answered(owner, 3)).at(-1)).toContain("No longer paired");
    bob.says("still?");
    expect((await w.answered(99, 4)).at(-1)).toContain("Pairing code");
  });

  test("a webhook takes an update only with the secret, and answers 200 only when it is durable", async () => {
    await w.close();
    w = await world({ webhookUrl: "https://bot.example.invalid/telegram/default", webhookSecret: "s3cret" });
    // Opens the private chat without a word.
    w.telegram.as(5).unblocks();
    const daemon = await w.start();
    const post = async (secret: string | null, text: string, account = "default"): Promise<number> => {
      const user = { id: 5, is_bot: false, first_name: "Eve" };
      const chat = { id: 5, type: "private", first_name: "Eve" };
      const date = Math.floor(Date.now() / 1000);
      const body = JSON.stringify({
        update_id: text.length,
        message: { message_id: text.length, date, from: user, chat, text },
      });
      const headers = {
        host: "bot.example",
        ...(secret === null ? {} : { "x-telegram-bot-api-secret-token": secret }),
      };
      return (await fetch(`${daemon.url}/telegram/${account}`, { method: "POST", headers, body })).status;
    };
    await eventually(() => w.telegram.calls("setWebhook").length === 1);
    expect(await Promise.all([post(null, "a"), post("wrong", "aa"), post("s3cret", "aaa", "other")])).toEqual(
      [401, 401, 404],
    );
    expect(await post("s3cret", "hello")).toBe(200);
    daemon.kill("SIGKILL");
    await daemon.exited;
    await w.start({ home: daemon.home });
    expect(await w.answered(5, 1)).toEqual(["echo: hello"]);
    expect(w.models.requests().map((request) => request.lastUserText)).toEqual(
      expect.not.arrayContaining(["a", "aa", "aaa"]),
    );
  });

  test("bots with wrong tokens keep no other bot from answering, and show as down; the menu is told once", async () => {
    const accounts = { revoked: { botToken: "777:revoked" }, torn: { botToken: "not-a-token" } };
    await w.close();
    w = await world({ accounts });
    const daemon = await w.start();
    w.telegram.as(5).says("hi");
    expect(await w.answered(5, 1)).toEqual(["echo: hi"]);
    const control = await controlClient(daemon);
    const { channels, state } = (await control.call("status")) as {
      state: string;
      channels: { account: string; state: string }[];
    };
    control.close();
    expect(state).toBe("degraded");
    expect(channels.filter((each) => each.state === "down").map((each) => each.account)).toEqual([
      "revoked",
      "torn",
    ]);
    const menu = (): number =>
      w.telegram.calls("setMyCommands").filter((call) => call.token === w.telegram.bot().token).length;
    await eventually(() => menu() === 1);
    await daemon.stop();
    await w.start({ home: daemon.home });
    w.telegram.as(5).says("again");
    await w.answered(5, 2);
    expect(menu()).toBe(1);
  });

  test("an account whose polling fails shows in the metrics and takes nothing else out of service", async () => {
    const daemon = await w.start({ config });
    const up = async (): Promise<string> => {
      const told = await fetch(`${daemon.url}/metrics`, {
        headers: { authorization: `Bearer ${daemon.token}` },
      });
      return /^parley_channel_up\{account="telegram:default"\} (\d)$/m.exec(await told.text())?.[1] ?? "";
    };
    await eventually(async () => (await up()) === "1");
    const body = { ok: false, error_code: 500, description: "Internal Server Error" };
    w.telegram.inject({ method: "getUpdates", times: null, trouble: { kind: "answer", status: 500, body } });
    w.telegram.as(5).says("wake the poll");
    await eventually(async () => (await up()) === "0");
    for (const path of ["/readyz", "/healthz"])
      expect((await fetch(`${daemon.url}${path}`)).status).toBe(200);
    w.telegram.heal();
    await eventually(async () => (await up()) === "1");
  });
});
