// What of an answer is said aloud, where, and what becomes of the answer when it cannot be.
import { Fault, formatRowPayload, silentLog } from "@parley/protocol";
import { answerTable, directMessage } from "@parley/testkit";
import { expect, test } from "vitest";
import { speechHint, speechModeAt, type SpokenPlace } from "../src/speech/speech-mode.ts";
import { spokenToo, spokenWords } from "../src/speech/spoken-answer.ts";

test.each([
  ["It is **sunny**, and `warm`.", "It is sunny, and warm."],
  ["See [the page](https://example.org) or https://example.org/x now.", "See the page or now."],
  ["Do this:\n\n```sh\nrm -rf /\n```\n\nThen rest.", "Do this:\nThen rest."],
  ["```\nonly code\n```", ""],
  ["~~~py\nnever closed", ""],
  ["Fine 👍🏽!", "Fine !"],
  ["🎉 🇩🇪 👨‍👩‍👧 …!", ""],
  ["1️⃣ Rest.", "1 Rest."],
  ["", ""],
])("%j is said as %j", (markdown, words) => {
  expect(spokenWords([{ kind: "text", markdown }]).replaceAll(/\s*\n\s*/g, "\n")).toBe(words);
});

test.each(["`", "~"])("a line of 100,000 times %s is read once, not in every length", (sign) => {
  expect(spokenWords([{ kind: "text", markdown: `Rest.\n\n${sign.repeat(100_000)}` }])).toMatch(/^Rest\./);
});

const config = (auto: string, maxTextLength = 20) => ({ messages: { tts: { auto, maxTextLength } } });
const address = { channel: "telegram", account: "default", kind: "dm", peer: "5" } as const;
const place = (more: object = {}): SpokenPlace =>
  ({
    config: config("always"),
    session: { fields: {} },
    address,
    surface: { capabilities: { voice: true, media: false } },
    speech: { voice: () => ({ name: "v" }) },
    ...more,
  }) as unknown as SpokenPlace;

test("replies are spoken as the conversation says, else the config, where something speaks and people hear it", () => {
  const session = (tts: unknown) => ({ session: { fields: { tts } } });
  const capabilities = (voice: boolean, media: boolean) => ({ surface: { capabilities: { voice, media } } });
  const looked: string[] = [];
  const speech = { voice: () => (looked.push("looked"), { unavailable: "no voice" }) };
  const places: { readonly [what: string]: object } = {
    "by the config": {},
    "by the conversation": session("tagged"),
    "off by the conversation": session("off"),
    "by a word that is no mode": session("loud"),
    "off by the config": { config: config("off") },
    "on by the conversation alone": { config: config("off"), ...session("inbound") },
    nowhere: { address: null },
    "on no channel": { surface: null },
    "for a program": { address: { ...address, channel: "hook" } },
    "where files go": capabilities(false, true),
    "where none go": capabilities(false, false),
    "without a speaker": { speech: undefined },
    "without a voice": { speech },
    "without a voice, off": { speech, ...session("off") },
  };
  expect(Object.entries(places).map(([what, more]) => [what, speechModeAt(place(more))])).toEqual([
    ["by the config", "always"],
    ["by the conversation", "tagged"],
    ["off by the conversation", "off"],
    ["by a word that is no mode", "always"],
    ["off by the config", "off"],
    ["on by the conversation alone", "inbound"],
    ["nowhere", "off"],
    ["on no channel", "off"],
    ["for a program", "off"],
    ["where files go", "always"],
    ["where none go", "off"],
    ["without a speaker", "off"],
    ["without a voice", "off"],
    ["without a voice, off", "off"],
  ]);
  expect(looked).toHaveLength(1);
  expect(answerTable(["off", "always", "inbound", "tagged"], (tts) => speechHint(place(session(tts)))))
    .toMatchInlineSnapshot(`
    ""off"
      "(undefined)"
    "always"
      "Your reply is also spoken: a recording follows its text.\\nMore than 20 characters are not spoken, nor is code.\\nWrite it to be heard: short sentences, no tables."
    "inbound"
      "Your reply to a voice message is also spoken: a recording follows its text.\\nMore than 20 characters are not spoken, nor is code.\\nWrite it to be heard: short sentences, no tables."
    "tagged"
      "A reply with [[audio_as_voice]] in it is also spoken: a recording follows its text, in which the tag is not shown.\\nMore than 20 characters are not spoken, nor is code.\\nWrite it to be heard: short sentences, no tables."
    "
  `);
});

const text = (markdown: string) => ({ kind: "text", markdown }) as const;
const reply = (...parts: readonly object[]) => ({ kind: "reply", parts });
const voice = formatRowPayload({
  v: 1,
  inbound: directMessage({
    attachments: [
      { kind: "image", ref: "r1" },
      { kind: "voice", ref: "r2" },
    ] as never,
  }),
  owner: true,
});
const words = formatRowPayload({ v: 1, inbound: directMessage(), owner: true });

/** `mode`: what the config says. The answer's own words differ from those that are sent. */
async function spoken(
  mode: string,
  {
    tagged = false,
    payloads = [words],
    own = reply(text("Own words.")),
    outcome = reply(text("sent")),
    speak,
  }: {
    readonly tagged?: boolean;
    readonly payloads?: readonly string[];
    readonly own?: object;
    readonly outcome?: object;
    readonly speak?: (words: string) => Promise<readonly object[]>;
  } = {},
) {
  const said: string[] = [];
  const warned: unknown[] = [];
  const made = await spokenToo(
    {
      config: config(mode),
      speech: {
        voice: () => ({}),
        speak: speak ?? (async (aloud: string) => (said.push(aloud), [{ path: "/1" }, { path: "/2" }])),
      },
    } as never,
    {
      ...place(),
      channel: place().surface,
      signal: new AbortController().signal,
      log: { ...silentLog, warn: (fields: unknown, message: string) => void warned.push([fields, message]) },
    } as never,
    {
      answer: { outcome: own, voice: tagged },
      journal: { rows: () => payloads.map((payload) => ({ payload })) },
    } as never,
    outcome as never,
  );
  return { made, said, warned };
}

test("an answer's own words follow it as recordings where all, a voice message's or a tagged answer's are spoken", async () => {
  const recordings = [
    { kind: "voice", file: { path: "/1" } },
    { kind: "voice", file: { path: "/2" } },
  ];
  const always = await spoken("always");
  expect(always).toEqual({ made: reply(text("sent"), ...recordings), said: ["Own words."], warned: [] });
  const is = async (...how: Parameters<typeof spoken>): Promise<boolean> =>
    (await spoken(...how)).said.length > 0;
  expect([
    await is("inbound"),
    await is("inbound", { payloads: [words, voice] }),
    await is("inbound", { tagged: true }),
    await is("tagged", { payloads: [voice] }),
    await is("tagged", { tagged: true }),
    await is("off", { tagged: true, payloads: [voice] }),
    await is("always", { own: { kind: "silent", reason: "x" } }),
    await is("always", { outcome: { kind: "failed", reason: "x", userMessage: "y" } }),
    await is("always", { own: reply(text("```\ncode\n```")) }),
    await is("always", { own: reply(text("x".repeat(20))) }),
    await is("always", { own: reply(text("x".repeat(21))) }),
  ]).toEqual([false, true, true, false, true, false, false, false, false, true, false]);
});

test("an answer that cannot be spoken goes in words, and the log says why; a bug is not hidden", async () => {
  const { made, warned } = await spoken("always", {
    speak: async () => {
      throw new Fault("unavailable", "the voice is down");
    },
  });
  expect([made, warned]).toEqual([
    reply(text("sent")),
    [[{ code: "unavailable", reason: "the voice is down" }, "an answer could not be spoken"]],
  ]);
  const bug = spoken("always", {
    speak: async () => {
      throw new Error("a bug");
    },
  });
  await expect(bug).rejects.toThrow("a bug");
});
