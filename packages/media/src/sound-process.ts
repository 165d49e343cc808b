// Starts the process for sound; those who speak and those who listen each have one.
import type { Clock } from "@parley/protocol";
import type { SoundReply, SoundTask } from "./sound-worker.ts";
import { workerProcess, type WorkerProcess } from "./worker-process.ts";

const taskMs = 60_000;

export function soundProcess(clock: Clock): WorkerProcess<SoundTask, SoundReply> {
  return workerProcess({ clock, program: "sound-worker", what: "recordings", taskMs });
}
