// Turns a voice message into words by a program of this machine, for example whisper: it is given a file, and
// what it writes is what was said.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault, type Clock } from "@parley/protocol";
import { runProgram } from "./run-program.ts";
import { soundProcess } from "./sound-process.ts";

export interface Listener {
  /** The words, empty when nobody spoke. Throws Fault. */
  hear(bytes: Uint8Array, signal: AbortSignal): Promise<string>;
  close(): Promise<void>;
}

export interface ListenerOptions {
  readonly command: string;
  /** With {{MediaPath}} and {{WavPath}} in them. */
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
  readonly clock: Clock;
}

/** A small model on a slow machine takes about as long as the recording. */
const timeoutMs = 180_000;
const wordsBytes = 1_000_000;

export function listener({ command, args, env, clock }: ListenerOptions): Listener {
  const worker = soundProcess(clock);
  const asksWav = args.some((arg) => arg.includes("{{WavPath}}"));

  async function wavFrom(bytes: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const reply = await worker.run({ ogg: bytes }, signal);
    if ("refused" in reply) throw new Fault("unsupported", `the recording cannot be heard: ${reply.refused}`);
    return reply.bytes;
  }

  return {
    async hear(bytes, signal) {
      const folder = await mkdtemp(join(tmpdir(), "parley-voice-"));
      const [media, wav] = [join(folder, "voice.ogg"), join(folder, "voice.wav")];
      try {
        await writeFile(media, bytes, { mode: 0o600 });
        if (asksWav) await writeFile(wav, await wavFrom(bytes, signal), { mode: 0o600 });
        const named = args.map((arg) =>
          arg.replaceAll("{{MediaPath}}", media).replaceAll("{{WavPath}}", wav),
        );
        const call = { command: [command, ...named], input: "", env, timeoutMs, mostBytes: wordsBytes };
        return (await runProgram(call, clock, signal)).toString("utf8").trim();
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    close: worker.close,
  };
}
