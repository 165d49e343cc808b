// A conversation by voice without any key, through the real daemon: espeak-ng speaks, a program listens, and
// what comes back on Telegram is a voice note.
import { execFileSync } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "@parley/protocol";
import { speaker } from "@parley/media";
import { lacks, program, programPath } from "@parley/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cleanUp, eventually, type Daemon } from "../e2e/daemon.ts";
import { world, type World } from "../e2e/world.ts";

const espeak = program("espeak-ng");
const opusinfo = program("opusinfo");

describe.skipIf(lacks(espeak, opusinfo))("voice in, voice out", () => {
  let w: World;
  let daemon: Daemon;
  let note: Uint8Array;

  beforeAll(async () => {
    w = await world();
    const mouth = speaker({ env: { PATH: process.env["PATH"] ?? "" }, clock: systemClock() });
    const [spoken] = await mouth.speak(
      { kind: "cli", command: [programPath(espeak), "--stdin", "--stdout"] },
      "What is the weather like?",
      new AbortController().signal,
    );
    await mouth.close();
    note = spoken?.bytes ?? new Uint8Array();
    // Hears only what is a recording: 16 kHz WAV, decoded from the Opus that Telegram has.
    const listens = 'test "$(head -c 4 "$0")" = RIFF && echo what is the weather like?';
    daemon = await w.start({
      config: {
        messages: {
          audio: { cli: { command: "sh", args: ["-c", listens, "{{WavPath}}"] } },
          tts: { auto: "inbound", provider: "cli", providers: { cli: { command: programPath(espeak) } } },
        },
      },
    });
    w.models.reply({ text: "It is **sunny**. See https://example.org for more." });
  }, 60_000);
  afterAll(async () => {
    await cleanUp();
    expect(w.telegram.violations()).toEqual([]);
    await w.close();
  });

  const shown = (chat: number) => w.answers(chat).map(({ kind, text }) => [kind, text]);

  test("a voice message is answered in words and as a voice note that plays", async () => {
    const ann = w.telegram.as({ id: 7, name: "Ann" });
    ann.sendsVoice({ file: { name: "voice.oga", mediaType: "audio/ogg", bytes: note } });
    await w.answered(7, 2, 30_000);
    expect(w.models.requests().at(-1)?.lastUserText).toMatch(/^what is the weather like\?\n\[attached voice/);
    expect(shown(7)).toEqual([
      ["text", "It is sunny. See https://example.org for more."],
      ["voice", ""],
    ]);
    const sent = w.telegram.calls("sendVoice").at(-1);
    expect(Number(sent?.params["duration"])).toBeGreaterThan(0);
    const recordings = (await readdir(join(daemon.home, "media"))).filter((name) => name.endsWith(".ogg"));
    expect(recordings).toHaveLength(1);
    const facts = execFileSync(programPath(opusinfo), [join(daemon.home, "media", recordings[0] ?? "")]);
    expect(facts.toString()).toMatch(/Channels: 1[\s\S]*Playback length: 0m:0\d\.\d+s/);
    expect(facts.toString()).not.toMatch(/WARNING|ERROR/);
  });

  test("words are answered in words, until /tts says otherwise", async () => {
    const bo = w.telegram.as({ id: 8, name: "Bo" });
    bo.says("hello");
    await w.answered(8, 1);
    bo.says("/tts always");
    await w.answered(8, 2);
    bo.says("hello again");
    await w.answered(8, 4, 30_000);
    await eventually(() => shown(8).length === 4, 10_000, "the answers");
    expect(shown(8).map(([kind]) => kind)).toEqual(["text", "text", "text", "voice"]);
    expect(shown(8)[1]?.[1]).toContain("Replies here are also spoken");
  });
});
