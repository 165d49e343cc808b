// Turns a voice message into words by a program of this machine, for example whisper: it is given a file, and
// what it writes is what was said.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault, type Clock } from "@parley/protocol";
import { runProgram } from "./run-program.ts";
import { soundKind } from "./sound-kind.ts";
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
const convertMs = 60_000;
const wordsBytes = 1_000_000;
/** Two hours, as much as is decoded without ffmpeg. */
const mostSeconds = "7200";
/** How ffmpeg names what Parley does not decode itself. */
const byFfmpeg: { readonly [extension: string]: string } = {
  m4a: "mov",
  mp3: "mp3",
  flac: "flac",
  ogg: "ogg",
  webm: "matroska",
};

export function listener({ command, args, env, clock }: ListenerOptions): Listener {
  const worker = soundProcess(clock);
  const asksWav = args.some((arg) => arg.includes("{{WavPath}}"));

  async function writeWav(bytes: Uint8Array, media: string, wav: string, signal: AbortSignal): Promise<void> {
    const reply = await worker.run({ heard: bytes }, signal);
    if ("bytes" in reply) return writeFile(wav, reply.bytes, { mode: 0o600 });
    const kind = byFfmpeg[soundKind(bytes)?.extension ?? ""];
    if (kind === undefined) throw new Fault("unsupported", `the recording cannot be heard: ${reply.refused}`);
    // The kind is set and files alone are read, so no recording names another one to be read.
    const from = ["-protocol_whitelist", "file", "-f", kind, "-i", `file:${media}`];
    const to = ["-vn", "-ac", "1", "-ar", "16000", "-t", mostSeconds, "-f", "wav", "-y", `file:${wav}`];
    const program = ["ffmpeg", "-nostdin", "-v", "error", ...from, ...to];
    const call = { command: program, input: "", env, timeoutMs: convertMs, mostBytes: wordsBytes };
    await runProgram(call, clock, signal).catch((cause: unknown) => {
      if (signal.aborted) throw cause;
      throw new Fault(
        "unsupported",
        `the recording cannot be heard: ${reply.refused}, and ${String(cause)}`,
        {
          cause,
        },
      );
    });
  }

  return {
    async hear(bytes, signal) {
      const folder = await mkdtemp(join(tmpdir(), "parley-voice-"));
      // Programs tell kinds by the ending.
      const media = join(folder, `voice.${soundKind(bytes)?.extension ?? "ogg"}`);
      const wav = join(folder, "heard.wav");
      try {
        await writeFile(media, bytes, { mode: 0o600 });
        if (asksWav) await writeWav(bytes, media, wav, signal);
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
