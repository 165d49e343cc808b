// A conversation by voice without any key, through the real daemon: espeak-ng speaks, a program listens, and
// what comes back on Telegram is a voice note, and on Discord a voice message.
import { execFileSync } from "node:child_process";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "@parley/protocol";
import { speaker } from "@parley/media";
import { fakeDiscord, lacks, program, programPath, type FakeDiscord } from "@parley/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cleanUp, eventually, type Daemon } from "../e2e/daemon.ts";
import { world, type World } from "../e2e/world.ts";

const espeak = program("espeak-ng");
const opusinfo = program("opusinfo");

describe.skipIf(lacks(espeak, opusinfo))("voice in, voice out", () => {
  let w: World;
  let daemon: Daemon;
  let discord: FakeDiscord;
  let note: Uint8Array;

  beforeAll(async () => {
    [w, discord] = await Promise.all([world(), fakeDiscord({ rateLimits: false })]);
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
        channels: {
          ...(w.config["channels"] as object),
          discord: {
            token: discord.bot().token,
            apiRoot: discord.apiRoot,
            dmPolicy: "open",
            allowFrom: ["*"],
            pacing: "off",
          },
        },
        messages: {
          audio: { cli: { command: "sh", args: ["-c", listens, "{{WavPath}}"] } },
          tts: { auto: "inbound", provider: "cli", providers: { cli: { command: programPath(espeak) } } },
        },
      },
    });
    w.models.reply({ text: "It is **sunny**. See https://example.org for more." });
  });
  afterAll(async () => {
    await cleanUp();
    // Discord's bodies were checked against its published description as they came.
    expect([w.telegram.violations(), discord.violations()]).toEqual([[], []]);
    await Promise.all([w.close(), discord.close()]);
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

  /** The voice messages that the bot sent on Discord: what it said of each, and its bytes. */
  async function spokenOnDiscord(chat: string) {
    const sent = discord
      .calls("POST /channels/:channel/messages")
      .filter(({ path, body }) => path.includes(chat) && ((body?.flags ?? 0) & 8_192) !== 0);
    return Promise.all(
      sent.map(async ({ body, files, answer }) => {
        const download = await fetch(answer.attachments[0].url as string);
        return { body, files, bytes: Buffer.from(await download.arrayBuffer()) };
      }),
    );
  }

  test("on Discord a voice message is answered by one with its length and waveform, words by words, a tag aloud", async () => {
    const cas = discord.as({ id: "100000000000000009", name: "Cas" });
    const chat = cas.dm();
    const answers = () => discord.visible(chat).filter(({ byBot }) => byBot);
    const answered = (count: number) =>
      eventually(() => answers().length >= count, 30_000, `answer ${count} on Discord`);
    const file = { name: "voice-message.ogg", mediaType: "audio/ogg", bytes: note };
    const voice = { seconds: 1.5, waveform: Uint8Array.from([0, 90, 255, 40]) };
    cas.says("", { files: [file], voice });
    await answered(2);
    expect(w.models.requests().at(-1)?.lastUserText).toMatch(/^what is the weather like\?\n\[attached voice/);
    const [words, aloud] = answers();
    expect(words).toMatchObject({ text: expect.stringContaining("sunny"), files: [] });
    expect(words).not.toHaveProperty("voiceSeconds");
    expect(aloud).toMatchObject({ text: "", voiceSeconds: expect.any(Number) });

    cas.says("and tomorrow?");
    await answered(3);
    expect(answers()[2]).not.toHaveProperty("voiceSeconds");
    w.models.reply({ text: "It will rain. [[audio_as_voice]]" });
    cas.says("tell me aloud");
    await answered(5);
    expect(answers()[3]?.text).toBe("It will rain.");
    expect(answers()[4]).toHaveProperty("voiceSeconds");

    const spoken = await spokenOnDiscord(chat);
    expect(spoken).toHaveLength(2);
    for (const { body, files, bytes } of spoken) {
      expect(body.flags).toBe(8_192);
      expect(body.content ?? "").toBe("");
      const [facts, ...others] = body.attachments;
      expect(others).toEqual([]);
      expect(facts).toMatchObject({ id: expect.anything(), filename: expect.stringMatching(/\.ogg$/) });
      expect(facts.duration_secs).toBeGreaterThan(0.3);
      const points = Buffer.from(facts.waveform as string, "base64");
      expect(points.toString("base64")).toBe(facts.waveform);
      expect(points.length).toBeGreaterThan(2);
      expect(points.length).toBeLessThanOrEqual(256);
      expect(Math.max(...points)).toBeGreaterThan(Math.min(...points));
      expect(Object.keys(files)).toEqual(["files[0]"]);
      // The sound is what Discord was told of it.
      const path = join(daemon.home, "from-discord.ogg");
      await writeFile(path, bytes);
      const told = execFileSync(programPath(opusinfo), [path]).toString();
      expect(told).not.toMatch(/WARNING|ERROR/);
      const [, minutes, seconds] = /Playback length: (\d+)m:([\d.]+)s/.exec(told) ?? [];
      expect(facts.duration_secs).toBeCloseTo(Number(minutes) * 60 + Number(seconds), 1);
    }
  });
});
