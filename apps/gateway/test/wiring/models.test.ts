// What turns speech into words, in which order, and what a provider is told: a service on this machine, real
// programs.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { secret } from "@parley/config";
import { systemClock } from "@parley/protocol";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { wireMedia } from "../../src/wiring/models.ts";
import { speechServer, type Speech } from "../media/speech.ts";

let home: string;
let service: Speech;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "parley-models-"));
  service = await speechServer();
  onTestFinished(async () => {
    await service.close();
    await rm(home, { recursive: true, force: true });
  });
});

const heard = async (audio: object, env: object = { PATH: "/usr/bin:/bin" }) => {
  const config = {
    messages: { audio },
    models: {
      providers: {
        ears: {
          baseUrl: service.url,
          apiKey: secret("key"),
          headers: { "x-team": secret("roses") },
          models: [],
        },
      },
    },
  };
  const { transcribe } = wireMedia(config as never, home, {
    pictures: undefined,
    env: env as never,
    clock: systemClock(),
  });
  return transcribe;
};
const speech = { bytes: Buffer.from("OggS and so on"), mediaType: "audio/ogg" };
const signal = new AbortController().signal;

async function script(text: string): Promise<object> {
  const file = join(home, "hear.sh");
  await writeFile(file, text);
  return { command: "/bin/sh", args: [file] };
}

test("nothing hears where nothing is set up, and an unknown provider is told at once", async () => {
  expect(await heard({})).toBeUndefined();
  await expect(heard({ transcribe: "nobody/whisper" })).rejects.toThrow(/add models\.providers\.nobody/);
});

test("the service is asked first, with its key and headers; the program where it refuses, and no longer then", async () => {
  const cli = await script("echo by the program");
  const transcribe = await heard({ transcribe: "ears/whisper", cli });
  service.says("by the service");
  expect(await transcribe?.(speech, signal)).toBe("by the service");
  expect(service.heard[0]).toContain("POST /v1/audio/transcriptions Bearer key");
  service.says(null);
  expect((await transcribe?.(speech, signal))?.trim()).toBe("by the program");
  const alone = await heard({ transcribe: "ears/whisper" });
  await expect(alone?.(speech, signal)).rejects.toThrow();
  // Whoever stopped waits for nobody else, and what was stopped takes nothing else with it.
  const stopped = AbortSignal.abort(new Error("stopped"));
  const asked = service.heard.length;
  await expect(transcribe?.(speech, stopped)).rejects.toMatchObject({ code: "aborted" });
  expect(service.heard).toHaveLength(asked);
});

test("a program is told where programs are and whose home it has, and nothing else of the gateway", async () => {
  const cli = await script('echo "$HOME|$LANG|$GATEWAY_TOKEN"');
  const env = { PATH: "/usr/bin:/bin", HOME: "/home/p", LANG: "de_DE", GATEWAY_TOKEN: "do-not-tell" };
  const transcribe = await heard({ cli }, env);
  expect((await transcribe?.(speech, signal))?.trim()).toBe("/home/p|de_DE|");
});
