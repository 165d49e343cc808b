// The message tool on the message path: what it sends goes out once, in order, where it may, and is not said
// again.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault, type Button, type JsonObject } from "@parley/protocol";
import { afterEach, describe, expect, test } from "vitest";
import type { Answer, Asked } from "./scripted-model.ts";
import { stage, type Person, type Stage, type StageOptions } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const calls = (args: JsonObject): Answer => ({ calls: { name: "message", args } });
const results = ({ messages }: Asked): readonly string[] =>
  messages.flatMap((message) =>
    message.role === "tool"
      ? [message.content.map((part) => ("text" in part ? part.text : "")).join("")]
      : [],
  );
const handleIn = (result = ""): string => /Handle: (\S+)/.exec(result)?.[1] ?? "none";

/** Makes one call for each word of "do a, b", as `steps` says, then answers. */
function script(
  steps: (asked: Asked, nth: number) => JsonObject | null,
  answer: (asked: Asked) => Answer = () => "NO_REPLY",
): (asked: Asked) => Answer {
  return (asked) => {
    const since = asked.messages.findLastIndex(({ role }) => role === "user");
    const done = asked.messages.slice(since).filter(({ role }) => role === "tool").length;
    const next = steps(asked, done);
    return next === null ? answer(asked) : calls(next);
  };
}

const once = (args: JsonObject, answer?: (asked: Asked) => Answer) =>
  script((_asked, nth) => (nth === 0 ? args : null), answer);

async function begin(
  model: (asked: Asked) => Answer,
  options: Pick<StageOptions, "telegram" | "config"> = {},
): Promise<Person> {
  s = await stage({
    catalogue: true,
    ...options,
    config: { commands: { ownerAllowFrom: ["telegram:olga"] }, ...options.config },
  });
  s.model.answers(model);
  return s.person("olga");
}

test("sends here, and NO_REPLY after it is no missing answer", async () => {
  const olga = await begin(once({ action: "send", text: "The **news** are in." }));
  await olga.says("news?").gets("The news are in.");
  await s.pass(60_000);
  expect(olga.sees()).toHaveLength(1);
  const [row] = await s.rows();
  expect(row?.outcome).toBe("silent");
});

test.each([
  ["the same words", "The **news** are in."],
  ["the same words without markup", "the news are in."],
])("an answer of %s is not sent again", async (_what, answer) => {
  const olga = await begin(once({ action: "send", text: "The **news** are in." }, () => answer));
  await olga.says("news?").gets("The news are in.");
  await s.pass(60_000);
  expect(olga.sees()).toHaveLength(1);
});

test("an answer with words of its own is sent, and an empty one needs no apology", async () => {
  const olga = await begin(
    once({ action: "send", text: "Done." }, ({ users }) => (users.length > 1 ? "" : "Anything else?")),
  );
  await olga.says("do").gets("Done.", "Anything else?");
  await olga.says("again").gets("Done.");
  await s.pass(60_000);
  expect(olga.sees()).toHaveLength(3);
});

test("a call that failed said nothing, so silence is told", async () => {
  const olga = await begin(once({ action: "send", text: "NO_REPLY" }));
  await olga.says("do").gets(/I have no answer to that/);
});

test("killed at any moment, it is sent once", async () => {
  const olga = await begin(
    script(
      (_asked, nth) => (nth < 3 ? { action: "send", text: `message ${nth + 1}` } : null),
      () => ({ afterMs: 900, says: ["That was all."] }),
    ),
  );
  const inner = s.telegram;
  olga.says("three please");
  for (let life = 0; life < 14; life += 1) {
    await s.pass(90 + life * 61);
    await s.kill();
    await s.start();
  }
  await s.until(() => inner.shown("olga").includes("That was all."), "the answer");
  await s.pass(60_000);
  expect([...new Set(olga.sees())]).toEqual(["message 1", "message 2", "message 3", "That was all."]);
  const sent = (await s.deliveries()).filter(({ id }) => id.endsWith("/message"));
  expect(sent).toHaveLength(3);
});

test("/stop drops what waits here, and not what goes elsewhere", async () => {
  const olga = await begin(
    script(
      (_asked, nth) =>
        nth === 0
          ? { action: "send", text: "for bert", to: "telegram:77" }
          : nth === 1
            ? { action: "send", text: "for olga" }
            : null,
      () => ({ afterMs: 600_000 }),
    ),
  );
  await s.person("77").says("hello").gets(/./);
  s.telegram.harm(() => "hang");
  olga.says("tell us");
  await s.pass(5_000);
  olga.says("/stop");
  await s.pass(5_000);
  const states = (await s.deliveries())
    .filter(({ id }) => id.includes("message"))
    .map(({ id, parts }) => [id.startsWith("message:"), parts[0]?.state]);
  expect(states).toContainEqual([true, "sending"]);
  await expect(await s.trace()).toMatchFileSnapshot("traces/message-tool-stopped.txt");
});

describe("a growing answer", () => {
  const growing = { telegram: { streaming: "edit" } };
  const talkative =
    (args: JsonObject) =>
    ({ messages }: Asked): Answer =>
      messages.some(({ role }) => role === "tool")
        ? { says: ["And now ", "the end."], pauseMs: 2_000 }
        : { says: ["Let me ", "think about", " it."], pauseMs: 2_000, calls: { name: "message", args } };

  test("makes way for a message of its turn, and comes again below it", async () => {
    const olga = await begin(talkative({ action: "send", text: "First this." }), growing);
    olga.says("go");
    await s.until(() => olga.sees().some((text) => text.startsWith("Let me")), "the preview");
    await s.until(() => olga.sees().includes("First this."), "the message", 10_000);
    expect(olga.sees()).toEqual(["First this."]);
    await s.until(() => olga.sees().length === 2, "the second preview");
    await s.until(() => olga.sees()[1] === "And now the end.", "the answer");
    await s.pass(60_000);
    expect(olga.sees()).toEqual(["First this.", "And now the end."]);
    const ids = (await s.deliveries()).map(({ id }) => id.replace(/^[^#]*#\d+/, ""));
    expect(ids.toReversed()).toEqual(["/preview", "/preview/removed", "/call-1/message", "/preview/1", "/0"]);
  });

  test("stays where it is for a message that goes elsewhere", async () => {
    const olga = await begin(talkative({ action: "send", text: "First this.", to: "telegram:77" }), growing);
    s.model.answers((asked) =>
      asked.text.includes("go") || asked.messages.some(({ role }) => role === "tool")
        ? talkative({ action: "send", text: "First this.", to: "telegram:77" })(asked)
        : "hi",
    );
    const bert = s.person("77");
    await bert.says("hello").gets("hi");
    olga.says("go");
    await bert.gets("First this.");
    await s.until(() => olga.sees()[0] === "And now the end.", "the answer");
    expect((await s.deliveries()).some(({ id }) => id.endsWith("/removed"))).toBe(false);
  });

  test("killed at any moment, people end with the message once and the answer once", async () => {
    const olga = await begin(talkative({ action: "send", text: "First this." }), growing);
    olga.says("go");
    for (let life = 0; life < 12; life += 1) {
      await s.pass(800 + life * 211);
      await s.kill();
      await s.start();
    }
    await s.until(() => olga.sees().includes("And now the end."), "the answer");
    await s.pass(120_000);
    expect([...new Set(olga.sees())]).toEqual(["First this.", "And now the end."]);
    expect((await s.deliveries()).every(({ open, done }) => !open || done)).toBe(true);
  });
});

describe("later calls", () => {
  test("edit, react, pin and delete what an earlier one sent, by its handle", async () => {
    const olga = await begin(
      script((asked, nth) => {
        const handle = handleIn(
          results(asked).findLast((each) => each.includes("Handle: ") && each.startsWith("send")),
        );
        return (
          [
            { action: "send", text: "draft" },
            { action: "edit", handle, text: "final" },
            { action: "react", handle, emoji: "👍" },
            { action: "pin", handle },
            { action: "reply", handle, text: "see above" },
          ][nth] ?? null
        );
      }),
    );
    olga.says("go");
    await s.until(() => olga.sees().includes("see above"), "the reply");
    const [first, second] = s.telegram.sent("olga");
    expect(first).toMatchObject({ part: { text: "final" }, edited: true, reactions: ["👍"], pinned: true });
    expect(second?.part).toMatchObject({ text: "see above", replyTo: first?.id });
    await expect(await s.trace()).toMatchFileSnapshot("traces/message-tool-acts.txt");
  });

  test("a reaction without a message is to the one that is answered", async () => {
    const olga = await begin(once({ action: "react", emoji: "🎉" }, () => "Great!"));
    const said = olga.says("we won");
    await said.gets("Great!");
    const reaction = (await s.deliveries()).find(({ id }) => id.endsWith("/message"));
    expect(reaction?.parts[0]?.content).toContain(JSON.stringify(said.event.messageId));
  });

  test("words are no reaction: the call itself says so, and nothing goes out", async () => {
    const olga = await begin(
      once({ action: "react", emoji: "well done" }, (asked) => results(asked).join("")),
    );
    await olga.says("we won").gets(/"well done" is no emoji: give one character/);
    expect((await s.deliveries()).filter(({ id }) => id.endsWith("/message"))).toEqual([]);
  });

  test.each(["❤", "👩‍👩‍👧", "🇩🇪", "1️⃣", "👍🏽", "ℹ️"])("%s is a reaction", async (emoji) => {
    const olga = await begin(once({ action: "react", emoji }, () => "Great!"));
    await olga.says("we won").gets("Great!");
    expect((await s.deliveries()).filter(({ id }) => id.endsWith("/message"))).toHaveLength(1);
  });

  test("change no request for approval and no answer of a command", async () => {
    const olga = await begin(() => "hi");
    await olga.says("/status").gets(/./);
    const [card] = s.telegram.sent("olga");
    s.model.answers(
      once({ action: "edit", messageId: card?.id ?? "", text: "All is well." }, (asked) =>
        results(asked).join(""),
      ),
    );
    await olga.says("go").gets(/that message is Parley's own, and stays as it is/);
  });
});

test("buttons come back as what they mean, also after a restart", async () => {
  const buttons = [
    [
      { label: "Yes", value: "the answer is yes" },
      { label: "No", value: "no" },
    ],
  ];
  const olga = await begin(once({ action: "send", text: "Sure?", buttons }));
  await olga.says("ask me").gets("Sure?");
  const [shown] = s.telegram.sent("olga");
  const rows = (shown?.part as { buttons?: readonly (readonly Button[])[] } | undefined)?.buttons;
  expect(rows?.[0]?.map(({ label }) => label)).toEqual(["Yes", "No"]);
  await s.kill();
  await s.start();
  s.model.answers(({ text }) => `heard: ${text}`);
  const value = rows?.[0]?.[0]?.value ?? "";
  await olga
    .says("", { kind: "callback", callback: { id: "1", value }, text: value })
    .gets(/heard: .*the answer is yes/s);
});

test("media of the workspace are an album with a caption; a poll and a recording go, too", async () => {
  const olga = await begin(
    script(
      (_asked, nth) =>
        [
          { action: "send", media: ["a.png", "b.png"], text: "Two pictures" },
          { action: "poll", poll: { question: "Tea?", options: ["Yes", "No"] } },
          { action: "send", media: ["note.ogg"], voice: true },
          { action: "send", media: ["../state.db"] },
        ][nth] ?? null,
      (asked) => results(asked).at(-1) ?? "",
    ),
  );
  const workspace = join(s.home, "workspace");
  await mkdir(workspace, { recursive: true });
  const png = Buffer.from("89504e470d0a1a0a00", "hex");
  await writeFile(join(workspace, "a.png"), png);
  await writeFile(join(workspace, "b.png"), Buffer.concat([png, png]));
  await writeFile(join(workspace, "note.ogg"), "OggS");
  olga.says("go");
  await s.until(() => s.telegram.sent("olga").length === 4, "all of it");
  const [album, poll, voice, answer] = s.telegram.sent("olga").map(({ part }) => part);
  expect(album).toMatchObject({ kind: "media", media: "image", caption: { text: "Two pictures" } });
  expect((album as { files: readonly { name: string }[] }).files.map(({ name }) => name)).toEqual([
    "a.png",
    "b.png",
  ]);
  expect(poll).toMatchObject({ kind: "poll", question: "Tea?", options: ["Yes", "No"] });
  expect(voice).toMatchObject({ kind: "voice", file: { name: "note.ogg", mediaType: "audio/ogg" } });
  expect(answer).toMatchObject({ text: expect.stringContaining("state.db") });
  await expect(await s.trace()).toMatchFileSnapshot("traces/message-tool-media.txt");
});

test("a message may be silent, and a poll open for so long; longer than the surface can is refused", async () => {
  const poll = { question: "Tea?", options: ["Yes", "No"], anonymous: true };
  const olga = await begin(
    script(
      (_asked, nth) =>
        [
          { action: "send", text: "Hush", silent: true },
          { action: "poll", poll: { ...poll, hours: 48 } },
          { action: "poll", poll: { ...poll, hours: 49 } },
        ][nth] ?? null,
      (asked) => results(asked).at(-1) ?? "",
    ),
  );
  const limits = { questionChars: 300, fewestOptions: 1, mostOptions: 12, optionChars: 100 };
  s.telegram.can({ pollLimits: { ...limits, anonymous: true, mostHours: 48 } });
  await s.kill();
  await s.start();
  olga.says("go");
  await s.until(() => s.telegram.sent("olga").length === 3, "all of it");
  const [hush, asked, answer] = s.telegram.sent("olga").map(({ part }) => part);
  expect(hush).toMatchObject({ text: "Hush", silent: true });
  expect(asked).toMatchObject({ kind: "poll", hours: 48 });
  expect(asked).not.toHaveProperty("silent");
  expect(answer).toMatchObject({
    text: expect.stringContaining("a poll on telegram is open for 1 to 48 hours, not 49"),
  });
});

test("a thread that a call opened is written in by its handle, before anybody knows its id", async () => {
  const olga = await begin(
    script(
      (asked, nth) =>
        [
          { action: "thread", title: "Plans" },
          { action: "send", to: handleIn(results(asked)[0]), text: "Inside" },
          { action: "send", text: "Outside" },
          { action: "send", to: handleIn(results(asked)[2]), text: "Nowhere" },
        ][nth] ?? null,
      (asked) => results(asked).at(-1) ?? "",
    ),
  );
  await olga.says("go").gets("Inside", "Outside", /that call opened no thread/);
  const [inside, outside] = s.telegram.sent("olga");
  expect(s.telegram.threads()).toEqual(["Plans"]);
  expect([inside?.to.thread, outside?.to.thread]).toEqual(["thread-1", undefined]);
});

test("a thread's id is the result of the call that opened it", async () => {
  const olga = await begin(
    once({ action: "thread", title: "Plans" }, (asked) => results(asked).at(-1) ?? ""),
  );
  await olga
    .says("go")
    .gets(/^thread: opened, id thread-1\. To write in it, give .*topic:thread-1 as .*Handle: /s);
});

test("a thread that is not open in time is told as on its way, and one that is refused as that", async () => {
  const olga = await begin(
    script(
      (_asked, nth) => (nth === 0 ? { action: "thread", title: "Plans" } : null),
      (asked) => results(asked).at(-1) ?? "",
    ),
  );
  s.telegram.harmActions(() => ({ refuse: new Fault("unavailable", "away") }));
  olga.says("go");
  await s.pass(20_000);
  s.telegram.harmActions(() => null);
  await s.until(() => s.telegram.threads().length === 1, "the thread, later");
  s.telegram.harmActions(() => ({ refuse: new Fault("denied", "not enough rights") }));
  await olga
    .says("once more")
    .gets(
      /still on its way and opens by itself\. Do not repeat it\.\nHandle: /,
      /could not be opened: .*not enough rights/,
    );
  expect(s.telegram.threads()).toEqual(["Plans"]);
});

describe("a vote in its poll", () => {
  const poll = { question: "Tea?", options: ["Yes", "No"], anonymous: false };
  async function voted(reactionNotifications: "own" | "off"): Promise<string> {
    const ask = once({ action: "poll", poll });
    const olga = await begin((asked) => (asked.text.endsWith("ask") ? ask(asked) : "read"), {
      telegram: { reactionNotifications },
    });
    olga.says("ask");
    await s.until(() => s.telegram.sent("olga").length === 1, "the poll");
    const [shown] = s.telegram.sent("olga");
    const voting = { kind: "reaction" as const, addressed: false };
    const replyTo = { messageId: shown?.id ?? "", toBot: false };
    olga.says("voted", { ...voting, replyTo, vote: { options: [1], takenBack: false } });
    olga.says("voted", {
      ...voting,
      replyTo: { messageId: "other", toBot: false },
      vote: { options: [0], takenBack: false },
    });
    await s.pass(60_000);
    expect(olga.sees()).toHaveLength(1);
    olga.says("and now?");
    await s.until(() => olga.sees().length === 2, "the answer");
    return JSON.stringify(s.model.asked.at(-1)?.request.messages);
  }

  test("is told with the next message", async () => {
    const read = await voted("own");
    expect(read).toMatch(/voted \\+"No\\+" in your poll \\+"Tea\?\\+"/);
    expect(read).not.toContain('voted \\"Yes');
  });

  test("is not told where reactionNotifications is off", async () => {
    expect(await voted("off")).not.toContain("voted");
  });
});
