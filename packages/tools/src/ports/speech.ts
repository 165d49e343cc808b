// The port to speech.
import type { MediaFile } from "@parley/protocol";
import type { Unavailable } from "./done.ts";

/** Speech, as the config has it at that moment. */
export interface Speech {
  /** By what it is spoken; the name is a service's or a program's. */
  voice(): { readonly name: string } | Unavailable;
  /** Recordings that play as voice notes: several of a text that is too long for one. Throws Fault. */
  speak(text: string, signal: AbortSignal): Promise<readonly MediaFile[]>;
}
