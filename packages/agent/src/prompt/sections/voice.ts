// Says how to write what will be spoken.
import type { VolatileSection } from "../section.ts";

export const voice: VolatileSection = {
  id: "voice",
  title: "Voice (TTS)",
  level: 2,
  zone: "volatile",
  modes: ["full"],
  priority: 30,
  render: ({ surface }) => surface.ttsHint ?? null,
  why: ({ surface }) => (surface.ttsHint === undefined ? "replies are not spoken" : "replies are spoken"),
};
