// Recordings: made by services and programs, encoded and decoded, and what is refused.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock, type Clock } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { listener, speaker } from "../src/index.ts";
import { runProgram, type ProgramCall } from "../src/run-program.ts";
import { atSentences } from "../src/sentences.ts";
import { opusPacketsIn } from "../src/ogg-pages.ts";
import { samplesOf, wavOf } from "../src/wav.ts";

const clock = systemClock();
const { signal } = new AbortController();
const env = { PATH: process.env["PATH"] ?? "" };
const mouth = speaker({ env, clock });
const asked: { readonly url: string; readonly headers: object; readonly body: string }[] = [];
let answer: { status: number; body: Buffer } = { status: 200, body: Buffer.alloc(0) };
let server: Server;
let baseUrl: string;

/** A tone of half a second at 22,050 Hz. */
const tone = wavOf(
  Buffer.from(Int16Array.from({ length: 11_025 }, (_, at) => 8_000 * Math.sin(at / 8)).buffer),
  22_050,
);

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    asked.push({
      url: request.url ?? "",
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    });
    response.writeHead(answer.status).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await mouth.close();
  await new Promise((resolve) => server.close(resolve));
});

const openai = () =>
  ({ kind: "openai", baseUrl: `${baseUrl}/v1`, apiKey: "key", model: "tts-1", voice: "alloy" }) as const;

describe("a service", () => {
  test("that speaks as OpenAI does is asked for Opus; a WAV from it becomes a voice note", async () => {
    answer = { status: 200, body: tone };
    const [recording] = await mouth.speak(openai(), "Hello.", signal);
    expect(asked.at(-1)).toMatchObject({
      url: "/v1/audio/speech",
      headers: { authorization: "Bearer key" },
      body: JSON.stringify({ model: "tts-1", voice: "alloy", input: "Hello.", response_format: "opus" }),
    });
    expect(recording?.mediaType).toBe("audio/ogg");
    // Half a second in packets of 20 ms, and the encoder's delay, which the head and the last page name.
    const made = Buffer.from(recording?.bytes ?? []);
    expect(opusPacketsIn(made)).toHaveLength(26);
    const delay = made.readUInt16LE(made.indexOf("OpusHead") + 10);
    expect([delay > 0, made.readBigUInt64LE(made.lastIndexOf("OggS") + 6)]).toEqual([
      true,
      BigInt(24_000 + delay),
    ]);
    // 24 kbit a second, more or less.
    expect(Math.abs(made.length - 1_500)).toBeLessThan(700);
  });

  test("ElevenLabs is asked with its own key, and its Opus is taken as it is", async () => {
    const [made] = await mouth.speak(openai(), "Hello.", signal);
    answer = { status: 200, body: Buffer.from(made?.bytes ?? []) };
    const engine = { kind: "elevenlabs", baseUrl, apiKey: "xi", voice: "a/b", model: "m" } as const;
    const [recording] = await mouth.speak(engine, "Hello.", signal);
    expect(asked.at(-1)).toMatchObject({
      url: "/v1/text-to-speech/a%2Fb?output_format=opus_48000_64",
      headers: { "xi-api-key": "xi" },
      body: '{"text":"Hello.","model_id":"m"}',
    });
    expect(Buffer.from(recording?.bytes ?? []).equals(answer.body)).toBe(true);
  });

  test("is told the voice's own settings, each under its name, and only those that are set", async () => {
    answer = { status: 200, body: Buffer.from("ID3 a recording") };
    const bodies: unknown[] = [];
    const said = async (engine: Parameters<typeof mouth.speak>[0]): Promise<void> => {
      await mouth.speak(engine, "Hello.", signal);
      bodies.push(JSON.parse(asked.at(-1)?.body ?? ""));
    };
    await said({ ...openai(), baseUrl: `${baseUrl}/v1//`, instructions: "calmly", speed: 0.5 });
    expect(asked.at(-1)?.url).toBe("/v1/audio/speech");
    await said({ ...openai(), apiKey: undefined, speed: 2 });
    expect(asked.at(-1)?.headers).not.toHaveProperty("authorization");
    await said({ kind: "elevenlabs", baseUrl, apiKey: "xi", voice: "v", model: "m", languageCode: "de" });
    const all = { model: "tts-1", voice: "alloy", input: "Hello.", response_format: "opus" };
    expect(bodies).toEqual([
      { ...all, instructions: "calmly", speed: 0.5 },
      { ...all, speed: 2 },
      { text: "Hello.", model_id: "m", language_code: "de" },
    ]);
  });

  test("MP3 and MP4 are taken as they are, other sound is made Opus", async () => {
    const m4a = Buffer.from("\0\0\0\u0018ftypM4A rest", "latin1");
    const kinds: unknown[] = [];
    for (const body of [Buffer.from("ID3 a"), m4a, tone]) {
      answer = { status: 200, body };
      const [made] = await mouth.speak(openai(), "Hello.", signal);
      kinds.push([made?.mediaType, made?.extension, Buffer.from(made?.bytes ?? []).equals(body)]);
    }
    expect(kinds).toEqual([
      ["audio/mpeg", "mp3", true],
      ["audio/mp4", "m4a", true],
      ["audio/ogg", "ogg", false],
    ]);
    // Ogg holds other sound than Opus too.
    answer = { status: 200, body: Buffer.from("OggS".padEnd(100, "vorbis")) };
    await expect(mouth.speak(openai(), "Hello.", signal)).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringContaining("it is no WAV"),
    });
  });

  test("that sends nothing, that is not there, and a call that was stopped are told apart", async () => {
    answer = { status: 200, body: Buffer.alloc(0) };
    const { host } = new URL(baseUrl);
    await expect(mouth.speak(openai(), "Hello.", signal)).rejects.toMatchObject({
      code: "unavailable",
      message: `${host} answered with an empty recording`,
    });
    const nobody = { ...openai(), baseUrl: "http://127.0.0.1:9" };
    await expect(mouth.speak(nobody, "Hello.", signal)).rejects.toMatchObject({
      code: "unavailable",
      message: "127.0.0.1:9 could not be reached to speak",
    });
    const stop = new AbortController();
    stop.abort();
    await expect(mouth.speak(openai(), "Hello.", stop.signal)).rejects.toMatchObject({
      code: "aborted",
      message: "speaking was stopped",
    });
  });

  test("has a minute, and not one millisecond more", async () => {
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    onTestFinished(() => {
      silent.closeAllConnections();
      silent.close();
    });
    await new Promise((resolve) => silent.once("listening", resolve));
    const port = (silent.address() as AddressInfo).port;
    const virtual = virtualClock();
    const slow = speaker({ env, clock: virtual });
    const reached = new Promise((resolve) => silent.once("request", resolve));
    let ended: unknown = null;
    const speaking = slow
      .speak({ ...openai(), baseUrl: `http://127.0.0.1:${port}` }, "Hello.", signal)
      .catch((error: unknown) => (ended = error));
    await reached;
    await virtual.advance(59_999);
    expect(ended).toBeNull();
    await virtual.advance(1);
    await speaking;
    expect(ended).toMatchObject({ code: "unavailable" });
  });

  test("a long text is several recordings, cut at sentences", async () => {
    answer = { status: 200, body: Buffer.from("ID3 a recording") };
    const recordings = await mouth.speak(openai(), "One sentence here. ".repeat(400), signal);
    expect(recordings.map(({ mediaType }) => mediaType)).toEqual(["audio/mpeg", "audio/mpeg"]);
    for (const { body } of asked.slice(-2))
      expect((JSON.parse(body) as { input: string }).input).toMatch(/^One .*here\.$/);
  });

  test.each([
    [400, "invalid"],
    [401, "denied"],
    [403, "denied"],
    [404, "invalid"],
    [429, "rate_limited"],
    [500, "unavailable"],
    [503, "unavailable"],
  ])("that answers %i is a fault", async (status, code) => {
    answer = { status, body: Buffer.from("secret words") };
    await expect(mouth.speak(openai(), "Hello.", signal)).rejects.toMatchObject({
      code,
      message: `${new URL(baseUrl).host} answered ${status} to a text to be spoken`,
    });
  });

  test("that answers with something else than sound is refused", async () => {
    answer = { status: 200, body: Buffer.from("<html>") };
    await expect(mouth.speak(openai(), "Hello.", signal)).rejects.toThrow("it is no WAV");
  });
});

describe("a program", () => {
  test("gets the words on its input, and nothing of the environment but what it needs", async () => {
    const script = 'test "$(cat)" = "Hi; rm -rf" && test -z "$SECRET" && cat "$0"';
    const { writeFile, mkdtemp, rm } = await import("node:fs/promises");
    const folder = await mkdtemp("/tmp/parley-speech-");
    await writeFile(`${folder}/a.wav`, tone);
    const command = ["sh", "-c", script, `${folder}/a.wav`];
    const [recording] = await mouth.speak({ kind: "cli", command }, "Hi; rm -rf", signal);
    expect(recording?.mediaType).toBe("audio/ogg");
    await rm(folder, { recursive: true });
  });

  test.each([
    [["sh", "-c", "echo broken >&2; exit 3"], "ended with 3: broken"],
    [["no-such-program-here"], "cannot be started"],
  ])("%j fails with its reason", async (command, reason) => {
    await expect(mouth.speak({ kind: "cli", command }, "Hi", signal)).rejects.toThrow(reason);
  });

  test("is ended when it takes too long or says too much, and told by its last words", async () => {
    const call = (script: string, over: Partial<ProgramCall> = {}, by = signal, time: Clock = clock) =>
      runProgram(
        { command: ["sh", "-c", script], input: "", env, timeoutMs: 60_000, mostBytes: 10, ...over },
        time,
        by,
      );
    expect(String(await call("printf 1234567890"))).toBe("1234567890");
    await expect(call("printf 12345678901; sleep 60")).rejects.toMatchObject({
      code: "unsupported",
      message: "sh wrote more than 10 bytes",
    });
    // What it says of its failure is cut at the front.
    const words = `${"a".repeat(10)}${"b".repeat(400)}`;
    await expect(call(`printf ${words} >&2; exit 3`)).rejects.toMatchObject({
      code: "unavailable",
      message: `sh ended with 3: ${"b".repeat(400)}`,
    });
    await expect(call("kill -9 $$")).rejects.toThrow("sh ended with a signal");
    const virtual = virtualClock();
    let ended: unknown = null;
    const slow = call("sleep 60 & wait", {}, signal, virtual).catch((error: unknown) => (ended = error));
    await virtual.advance(59_999);
    expect(ended).toBeNull();
    await virtual.advance(1);
    await slow;
    expect(ended).toMatchObject({ code: "unavailable", message: "sh took longer than 60 s" });
    const stop = new AbortController();
    const stopped = call("sleep 60", {}, stop.signal);
    stop.abort();
    for (const each of [stopped, call("printf 1", {}, stop.signal)])
      await expect(each).rejects.toMatchObject({ code: "aborted", message: "sh was stopped" });
    // One that does not read its input is no failure.
    expect(String(await call("exit 0", { input: "x".repeat(1_000_000) }))).toBe("");
  });

  test("that listens gets a WAV of a voice note, and is ended with its children", async () => {
    answer = { status: 200, body: tone };
    const [note] = await mouth.speak(openai(), "Hello.", signal);
    const script = 'head -c 4 "$0"; echo " of $(($(wc -c < "$0") / 32000))s"';
    const ear = listener({ command: "sh", args: ["-c", script, "{{WavPath}}"], env, clock });
    expect(await ear.hear(note?.bytes ?? new Uint8Array(), signal)).toBe("RIFF of 0s");
    await expect(ear.hear(Buffer.from("no sound"), signal)).rejects.toThrow("it is neither Opus nor WAV");
    await ear.close();
    const stop = new AbortController();
    const slow = listener({ command: "sh", args: ["-c", "sleep 60 & wait"], env, clock });
    const hearing = slow.hear(new Uint8Array(1), stop.signal);
    setImmediate(() => stop.abort());
    await expect(hearing).rejects.toMatchObject({ code: "aborted" });
  });
});

test("a WAV without lengths in its header is read to its end", () => {
  const streamed = Buffer.from(tone);
  streamed.writeUInt32LE(0xff_ff_ff_ff, 4);
  streamed.writeUInt32LE(0x7f_ff_00_00, 40);
  expect(samplesOf(streamed)?.length).toBe(24_000);
  expect(samplesOf(tone.subarray(0, 40))).toBeNull();
  expect(samplesOf(Buffer.from("RIFF"))).toBeNull();
});

test("a text is cut at sentences, and at words where one is too long", () => {
  expect(atSentences("One. Two. Three.", 10)).toEqual(["One. Two.", "Three."]);
  expect(atSentences("a long sentence without an end", 12)).toEqual([
    "a long",
    "sentence",
    "without an",
    "end",
  ]);
  expect(atSentences("x".repeat(25), 10)).toEqual(["x".repeat(10), "x".repeat(10), "xxxxx"]);
  expect(atSentences("  ", 10)).toEqual([]);
});
