// A day in the life of one Parley on Telegram, over the real daemon: what people did and what they saw, as
// one transcript to read.
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Address } from "@parley/protocol";
import { plant } from "../media/plant.ts";
import { speechServer, type Speech } from "../media/speech.ts";
import { controlClient } from "./control-client.ts";
import { cleanUp, eventually, startDaemon, type Daemon } from "./daemon.ts";
import { world, type World } from "./world.ts";

const ann = 7;
const bob = 8;
const forum = -1_001_000_000_007;
const annsChat: Address = { channel: "telegram", account: "default", kind: "dm", peer: String(ann) };
const png = {
  name: "p.png",
  mediaType: "image/png",
  bytes: Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
};

let w: World;
let speech: Speech;
let daemon: Daemon;
beforeAll(async () => {
  [w, speech] = await Promise.all([
    world({ dmPolicy: "pairing", allowFrom: [], groupPolicy: "open", streaming: "edit" }),
    speechServer(),
  ]);
  w.telegram.group({ id: forum, title: "Trip", isForum: true });
});
afterAll(async () => {
  await cleanUp();
  expect(w.telegram.violations()).toEqual([]);
  await w.close();
  await speech.close();
});

/** What the model answers to what it read; null lets it think until it is released. */
const answers: readonly (readonly [RegExp, string | null])[] = [
  [/\[pressed button\]\ncallback_data: book/, "Booked: the nine o'clock train."],
  [/reacted 🎉 to your message "Booked/, "I saw that it pleased you."],
  [/the train leaves at nine[\s\S]*when does it leave/, "At nine, as Bob said."],
  [/name a tea/, "**Sencha.**"],
  [/(?:\[attached image.*\n*){3}/, "Three pictures of a garden."],
  [/words above are its transcript/, "You asked about the weather. It is fine."],
  [/for (?:ten|two) people/, "A table for two, then."],
  [/long story/, null],
  [/hello/, "Good morning, Ann."],
];

test("pairing, a group, a topic, an album, a voice message, a kill in the middle, a button, a reaction and an edit", async () => {
  const transcript: string[] = [];
  const seen = new Map<number, number>();
  /** Ends of stories that are being told. */
  const endings: (() => void)[] = [];
  w.models.reply(async ({ lastUserText }) => {
    const [, answer] = answers.find(([asked]) => asked.test(lastUserText)) ?? [null, `? ${lastUserText}`];
    if (answer !== null) return answer;
    await new Promise<void>((resolve) => endings.push(resolve));
    return "The end of the story, after a pause.";
  });
  const start = async (home?: string): Promise<Daemon> => {
    const { models } = w.config as { models: { providers: object } };
    const providers = {
      ...models.providers,
      speech: { api: "openai-completions", baseUrl: speech.url, apiKey: "key" },
    };
    return startDaemon({
      ...(home === undefined ? {} : { home }),
      config: { ...w.config, models: { providers }, messages: { audio: { transcribe: "speech/whisper" } } },
    });
  };
  /** Writes down what people do, then what they get to see of it. */
  const happens = async (
    what: string,
    chat: number,
    act: () => unknown,
    messages = 1,
  ): Promise<readonly string[]> => {
    transcript.push(what);
    act();
    return sees(chat, messages);
  };
  const sees = async (chat: number, messages = 1): Promise<readonly string[]> => {
    const from = seen.get(chat) ?? 0;
    await w.answered(chat, from + messages, 20_000);
    seen.set(chat, from + messages);
    const shown = w.answers(chat).slice(from, from + messages);
    for (const { text, thread, buttons } of shown) {
      const place = thread === undefined ? "" : ` [topic ${thread}]`;
      const keys = buttons.flat().map((label) => ` (${label})`);
      transcript.push(
        `  Parley${place}: ${text
          .replace(/[A-HJ-NP-Z2-9]{8}/g, "XXXXXXXX")
          .split("\n")
          .join(" / ")}${keys.join("")}`,
      );
    }
    return shown.map((message) => message.text);
  };

  daemon = await start();
  const annie = w.telegram.as({ id: ann, name: "Ann" });
  const bobby = w.telegram.as({ id: bob, name: "Bob" });

  const [invitation = ""] = await happens("Ann: hello", ann, () => annie.says("hello"));
  const control = await controlClient(daemon);
  await control.call("pairing.approve", { code: /code: (\S{8})/.exec(invitation)?.[1] });
  control.close();
  transcript.push("The operator approves the code.");
  await happens("Ann: hello again", ann, () => annie.says("hello again"));

  transcript.push("Bob, in the group: the train leaves at nine");
  bobby.says("the train leaves at nine", { chat: forum });
  await happens("Ann, in the group: @bot1_bot when does it leave?", forum, () =>
    annie.says("@bot1_bot when does it leave?", { chat: forum }),
  );
  const topic = w.telegram.topic(forum, "Tea");
  await happens("Ann, in the topic: @bot1_bot name a tea", forum, () =>
    annie.says("@bot1_bot name a tea", { chat: forum, thread: topic }),
  );

  await happens("Ann sends an album of three.", ann, () =>
    annie.sendsAlbum(3, { file: png, caption: "my garden" }),
  );
  speech.says("what is the weather like?");
  await happens("Ann sends a voice message.", ann, () => annie.sendsVoice());

  transcript.push("Ann: tell me a long story", "The machine loses its power; somebody starts it again.");
  annie.says("tell me a long story");
  await eventually(() => endings.length > 0);
  daemon.kill("SIGKILL");
  await daemon.exited;
  endings.length = 0;
  await plant(daemon.home, annsChat, [
    [
      {
        kind: "text",
        markdown: "Shall I book it?",
        buttons: [
          [
            { label: "Yes", value: "book" },
            { label: "No", value: "leave" },
          ],
        ],
      },
    ],
  ]);
  daemon = await start(daemon.home);
  await sees(ann);
  await eventually(() => endings.length > 0);
  endings.shift()?.();
  await sees(ann);

  const offer = w.answers(ann).find((message) => message.buttons.length > 0)?.id ?? 0;
  const sent = w.telegram
    .calls("sendMessage")
    .findLast(({ params }) => JSON.stringify(params).includes("Shall I book it?"));
  const name = /~[\w-]{22}/.exec(JSON.stringify(sent?.params))?.[0] ?? "";
  await happens("Ann presses Yes.", ann, () => annie.presses(offer, name));
  const again = annie.presses(offer, name);
  const told = await eventually(() => w.telegram.bot().callbackAnswer(again));
  transcript.push("Ann presses Yes once more.", `  shown at the button: ${told.text}`);

  transcript.push("Ann reacts with 🎉 to the booking.");
  annie.reacts(w.answers(ann).at(-1)?.id ?? 0, "🎉");
  await eventually(() => w.telegram.bot().queue.pending().length === 0);
  await happens("Ann: did you see?", ann, () => annie.says("did you see?"));

  transcript.push("Ann: another long story, please", "Ann: a table for ten people");
  annie.says("another long story, please");
  await eventually(() => endings.length > 0);
  const table = annie.says("a table for ten people");
  await happens(
    "Ann edits that to: a table for two people",
    ann,
    () => {
      annie.edits(table.message_id, "a table for two people");
      setTimeout(() => endings.shift()?.(), 300);
    },
    2,
  );
  expect(await daemon.stop()).toBe(0);

  expect(transcript.join("\n")).toBe(`Ann: hello
  Parley: I do not know you yet, so I cannot answer. / Your telegram id: 7 / Pairing code: XXXXXXXX / Ask the operator to run parley pair approve XXXXXXXX within an hour.
The operator approves the code.
Ann: hello again
  Parley: Good morning, Ann.
Bob, in the group: the train leaves at nine
Ann, in the group: @bot1_bot when does it leave?
  Parley: At nine, as Bob said.
Ann, in the topic: @bot1_bot name a tea
  Parley [topic ${topic}]: Sencha.
Ann sends an album of three.
  Parley: Three pictures of a garden.
Ann sends a voice message.
  Parley: You asked about the weather. It is fine.
Ann: tell me a long story
The machine loses its power; somebody starts it again.
  Parley: Shall I book it? (Yes) (No)
  Parley: The end of the story, after a pause.
Ann presses Yes.
  Parley: Booked: the nine o'clock train.
Ann presses Yes once more.
  shown at the button: This was already pressed.
Ann reacts with 🎉 to the booking.
Ann: did you see?
  Parley: I saw that it pleased you.
Ann: another long story, please
Ann: a table for ten people
Ann edits that to: a table for two people
  Parley: The end of the story, after a pause.
  Parley: A table for two, then.`);
});
