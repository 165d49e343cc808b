// What people see of an answer while it is made: progress for those who follow, a message that grows or pieces of it on the platform, and
// thoughts where somebody asked for them. Thoughts and answer never share a growing message.
import type { Channel } from "@parley/channels";
import type { Streaming } from "@parley/config";
import type { Clock, ReasoningLevel } from "@parley/protocol";
import type { Outbox } from "@parley/store";
import { blockStream, type BlockStreamOptions } from "./block-stream.ts";
import { editedPreview, noPreview, type Preview, type PreviewOptions } from "./edited-preview.ts";
import type { Progress } from "./progress.ts";
import { growingThoughts } from "./thoughts.ts";

export interface LiveAnswerOptions extends BlockStreamOptions, Pick<PreviewOptions, "held"> {
  readonly how: Streaming;
  readonly reasoning: ReasoningLevel;
  readonly channel: Channel | null;
  readonly progress: Pick<Progress, "text">;
  readonly outbox: Outbox;
  readonly clock: Clock;
}

export interface LiveAnswer extends Preview {
  /** The thoughts so far, whole. */
  showThoughts(visible: string): void;
}

export function liveAnswer(options: LiveAnswerOptions): LiveAnswer {
  const { turn, how, reasoning, progress } = options;
  // Pieces that went out would stand before the thoughts of which they came.
  const preview = previewBy(how === "block" && reasoning === "on" ? "off" : how, options);
  let thoughts: string | null = null;
  return {
    show(text, replyTo) {
      progress.text(turn, thoughts !== null && reasoning === "on" ? `${thoughts}\n\n${text}` : text);
      // With thoughts to keep the growing message is theirs; the answer comes after it.
      if (thoughts === null || reasoning !== "on") preview.show(text, replyTo);
    },
    showThoughts(visible) {
      thoughts = growingThoughts(visible);
      if (thoughts === null) return;
      progress.text(turn, thoughts);
      if (how !== "block") preview.show(thoughts);
    },
    close: () => preview.close(),
  };
}

function previewBy(how: Streaming, options: LiveAnswerOptions): Preview {
  const { channel } = options;
  if (channel === null || how === "off") return noPreview;
  if (how === "block") return blockStream(options);
  const canEdit = channel.capabilities.edits && channel.act !== undefined;
  return canEdit ? editedPreview({ ...options, channel }) : noPreview;
}
