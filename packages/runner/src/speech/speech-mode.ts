// Decides whether a conversation's replies are spoken: what /tts set for it, else the config; where something
// can speak, and where people hear it. The prompt tells the agent the same (I12).
import { isProgram } from "@parley/access";
import type { Channel } from "@parley/channels";
import type { Config } from "@parley/config";
import { parseRowPayload, type Address } from "@parley/protocol";
import type { Row, Session } from "@parley/store";
import type { Speech } from "@parley/tools";

export const speechModes = ["off", "always", "inbound", "tagged"] as const;
export type SpeechMode = (typeof speechModes)[number];

/** The session field that /tts writes. */
export const speechField = "tts";

export function speechModeOf(
  { fields }: Pick<Session, "fields">,
  { messages }: Pick<Config, "messages">,
): SpeechMode {
  return speechModes.find((mode) => mode === fields[speechField]) ?? messages.tts.auto;
}

export interface SpokenPlace {
  readonly config: Pick<Config, "messages">;
  readonly session: Pick<Session, "fields">;
  readonly address: Address | null;
  readonly surface: Pick<Channel, "capabilities"> | null;
  readonly speech: Speech | undefined;
}

/** `off` where nobody would hear it, or nothing speaks. */
export function speechModeAt({ config, session, address, surface, speech }: SpokenPlace): SpeechMode {
  if (address === null || surface === null || isProgram(address)) return "off";
  const { voice, media } = surface.capabilities;
  if (speech === undefined || (!voice && !media)) return "off";
  const mode = speechModeOf(session, config);
  // What speaks is looked for on the disk, and mostly nobody wants to hear it.
  return mode === "off" || "unavailable" in speech.voice() ? "off" : mode;
}

export function hasVoice(rows: readonly Row[]): boolean {
  return rows.some(({ payload }) =>
    parseRowPayload(payload).inbound.attachments.some(({ kind }) => kind === "voice"),
  );
}

/** What the agent is told of it; undefined where replies are not spoken. */
export function speechHint(place: SpokenPlace): string | undefined {
  const { maxTextLength } = place.config.messages.tts;
  const rest = [
    `More than ${maxTextLength} characters are not spoken, nor is code.`,
    "Write it to be heard: short sentences, no tables.",
  ];
  const lines = (first: string): string => [first, ...rest].join("\n");
  switch (speechModeAt(place)) {
    case "off":
      return undefined;
    case "always":
      return lines("Your reply is also spoken: a recording follows its text.");
    case "inbound":
      return lines("Your reply to a voice message is also spoken: a recording follows its text.");
    case "tagged":
      return lines(
        "A reply with [[audio_as_voice]] in it is also spoken: a recording follows its text, in which the tag is not shown.",
      );
  }
}
