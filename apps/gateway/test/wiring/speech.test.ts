// Which voice speaks, what is tried after it, and what is not bought twice: a service on this machine, real
// files.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { secret } from "@parley/config";
import { silentLog } from "@parley/protocol";
import { oggOpusFile, virtualClock } from "@parley/testkit";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { saidLog } from "../daemon/said-log.ts";
import { idleSpeech, wireSpeech } from "../../src/wiring/speech.ts";
import { operateFixture } from "../operator/operate-fixture.ts";

const recording = oggOpusFile([1]);
let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "parley-speech-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
});

const config = (tts: object = {}, providers: object = {}) =>
  ({ messages: { tts: { providers: {}, ...tts } }, models: { providers } }) as never;
const voice = (tts?: object, providers?: object, env: object = { PATH: "/nowhere" }) =>
  idleSpeech(config(tts, providers), env as never).voice();
const nothing = { unavailable: "nothing speaks: set messages.tts.providers, or install espeak-ng" };

async function program(name: string, mode = 0o755): Promise<string> {
  const file = join(home, name);
  await writeFile(file, "#!/bin/sh\n");
  await chmod(file, mode);
  return file;
}

test("the voice is the one that is named, else the first that is set up, else what is there anyway", async () => {
  await program("espeak-ng");
  const key = secret("k");
  const here = { PATH: home };
  expect(voice()).toEqual(nothing);
  expect(voice({}, {}, here)).toEqual({ name: "espeak-ng" });
  expect(voice({}, {}, { ...here, ELEVENLABS_API_KEY: "" })).toEqual({ name: "espeak-ng" });
  expect(voice({}, {}, { ...here, ELEVENLABS_API_KEY: "e" })).toEqual({ name: "elevenlabs" });
  expect(voice({}, { openai: { apiKey: key } }, { ...here, ELEVENLABS_API_KEY: "e" })).toEqual({
    name: "openai",
  });
  expect(voice({ providers: { elevenlabs: { apiKey: key } } }, { openai: { apiKey: key } })).toEqual({
    name: "elevenlabs",
  });
  expect(voice({ provider: "cli", providers: { elevenlabs: { apiKey: key } } }, {}, here)).toEqual({
    name: "espeak-ng",
  });
  // What was set up and lacks its key is not replaced by what nobody asked for.
  expect(voice({ providers: { openai: {} } }, {}, here)).toEqual(nothing);
  // The key of the models' provider goes to its own address alone.
  expect(voice({ providers: { openai: { baseUrl: "http://a" } } }, { openai: { apiKey: key } })).toEqual({
    name: "openai",
  });
});

test("a program speaks where it is one that may run: by its path, or in a folder of the search path", async () => {
  const say = await program("say");
  const text = await program("text", 0o644);
  const cli = (command: string, PATH?: string) =>
    voice({ providers: { cli: { command } } }, {}, PATH === undefined ? {} : { PATH });
  expect(cli(say)).toEqual({ name: say });
  expect(cli("say", `/nowhere:${home}`)).toEqual({ name: "say" });
  expect([
    cli(text),
    cli("text", home),
    cli("say", relative(process.cwd(), home)),
    cli("say", ""),
    cli(join(home, "none")),
  ]).toEqual(Array.from({ length: 5 }, () => nothing));
});

/** A service that speaks, or refuses, and remembers what it was asked. */
async function service() {
  const asked: { key: string | undefined; body: { input: string; voice: string } }[] = [];
  const it = { status: 200 };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    asked.push({ key: request.headers.authorization, body: JSON.parse(Buffer.concat(chunks).toString()) });
    response.writeHead(it.status).end(recording);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { asked, it, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test("the same words in the same voice are bought once a day, as long as their recording is kept", async () => {
  const { asked, it, baseUrl } = await service();
  const { store, clock } = await operateFixture();
  let by: object = { apiKey: secret("one"), baseUrl };
  const { port, close } = wireSpeech({
    configNow: () => config({ providers: { openai: by } }),
    mediaPath: home,
    env: {},
    cells: store.cells,
    clock,
    log: silentLog,
  });
  onTestFinished(close);
  const say = (text: string) => port.speak(text, new AbortController().signal);
  const first = await say("hello");
  expect(first).toEqual([
    { path: expect.any(String), mediaType: "audio/ogg", bytes: recording.length, name: "voice.ogg" },
  ]);
  expect(asked).toMatchObject([{ key: "Bearer one", body: { input: "hello", voice: "alloy" } }]);
  await clock.advance(86_399_000);
  // Another key buys nothing new, and the file is as young as its last use.
  by = { apiKey: secret("two"), baseUrl };
  expect([await say("hello"), asked.length]).toEqual([first, 1]);
  expect((await stat(join(home, first[0]?.path ?? ""))).mtimeMs).toBe(clock.now());
  await say("other words");
  by = { apiKey: secret("two"), baseUrl, voice: "onyx" };
  await say("hello");
  expect(asked.map(({ body }) => [body.input, body.voice])).toEqual([
    ["hello", "alloy"],
    ["other words", "alloy"],
    ["hello", "onyx"],
  ]);
  await clock.advance(1_000);
  by = { apiKey: secret("two"), baseUrl };
  await say("hello");
  expect(asked).toHaveLength(4);
  for (const name of await readdir(home)) await rm(join(home, name));
  await say("hello");
  expect(asked).toHaveLength(5);
  it.status = 401;
  await expect(say("not said")).rejects.toThrow(/401|refused|key/);
});

test("where one fails the next one that is set up speaks; a call that was given up asks nobody else", async () => {
  const { asked, it, baseUrl } = await service();
  const { store } = await operateFixture();
  const { log, said } = saidLog();
  const quiet = join(home, "quiet");
  await writeFile(quiet, "#!/bin/sh\necho no voice >&2; exit 1\n");
  await chmod(quiet, 0o755);
  const { port, close } = wireSpeech({
    configNow: () =>
      config(
        { provider: "cli", providers: { openai: { baseUrl }, cli: { command: quiet, args: [] } } },
        { openai: { apiKey: secret("of models") } },
      ),
    mediaPath: home,
    env: { PATH: "/usr/bin:/bin" },
    cells: store.cells,
    clock: virtualClock(),
    log,
  });
  onTestFinished(close);
  const given = new AbortController();
  expect(await port.speak("hello", given.signal)).toHaveLength(1);
  expect(said).toEqual([
    [
      "warn",
      "speaking failed",
      { by: quiet, code: "unavailable", reason: expect.stringContaining("no voice") as string },
    ],
  ]);
  expect(asked).toMatchObject([{ key: undefined, body: { input: "hello" } }]);
  it.status = 500;
  await expect(port.speak("other", given.signal)).rejects.toThrow();
  const before = asked.length;
  given.abort(new Error("given up"));
  await expect(port.speak("third", given.signal)).rejects.toThrow();
  expect(asked).toHaveLength(before);
});

test("where nothing was set up, what is there anyway is tried alone", async () => {
  const { it, asked, baseUrl } = await service();
  const { store } = await operateFixture();
  await writeFile(join(home, "espeak-ng"), `#!/bin/sh\ntouch ${home}/spoke\n`);
  await chmod(join(home, "espeak-ng"), 0o755);
  const { port, close } = wireSpeech({
    configNow: () => config({}, { openai: { apiKey: secret("k"), baseUrl } }),
    mediaPath: home,
    env: { PATH: `${home}:/usr/bin:/bin` },
    cells: store.cells,
    clock: virtualClock(),
    log: silentLog,
  });
  onTestFinished(close);
  it.status = 401;
  await expect(port.speak("hello", new AbortController().signal)).rejects.toThrow();
  expect([asked.length, (await readdir(home)).includes("spoke")]).toEqual([1, false]);
});
