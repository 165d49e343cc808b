// Shows an answer while it is made: progress for subscribers, a growing message or blocks on the platform,
// and thoughts where the session shows them, either as a message before the answer (`on`) or only while it
// grows (`stream`). Thoughts and answer never share a growing message, and thoughts are filtered like all
// outgoing text (I8).
import { streamingOf } from "@parley/access";
import { sanitizeOutbound, type Redaction } from "@parley/agent";
import type { Streaming } from "@parley/config";
import type { Entry } from "@parley/protocol";
import { blockStream } from "./block-stream.ts";
import { editedPreview, noPreview, type Preview, type Previewed } from "./edited-preview.ts";
import type { Progress } from "./progress.ts";
import type { TurnJournal } from "../turn-journal.ts";
import type { Services, TurnScope } from "../turn-scope.ts";

export interface LiveAnswer extends Preview {
  /** Takes what is shown back, and shows nothing until `resume`, because a message goes out in between. */
  rest(): Promise<Previewed>;
  resume(): void;
  /** All thoughts so far. */
  showThoughts(visible: string): void;
}

type LiveServices = Pick<Services, "config" | "outbox" | "clock">;

export function liveAnswer(
  services: LiveServices,
  scope: TurnScope,
  journal: TurnJournal,
  progress: Pick<Progress, "text">,
): LiveAnswer {
  const turn = scope.turn.id;
  const { reasoning } = scope.prepared;
  const how = streamingOf(services.config, scope.account);
  // Blocks sent now would stand before the thoughts that led to them.
  const begin = (): Preview =>
    previewBy(how === "block" && reasoning === "on" ? "off" : how, services, scope, journal);
  let preview = begin();
  let thoughts: string | null = null;
  return {
    show(text, replyTo) {
      progress.text(turn, thoughts !== null && reasoning === "on" ? `${thoughts}\n\n${text}` : text);
      // Thoughts that stay own the growing message, and the answer comes after it.
      if (thoughts === null || reasoning !== "on") preview.show(text, replyTo);
    },
    showThoughts(visible) {
      thoughts = growingThoughts(visible);
      if (thoughts === null) return;
      progress.text(turn, thoughts);
      if (how !== "block") preview.show(thoughts);
    },
    rest: () => preview.close(),
    resume() {
      preview = begin();
    },
    close: () => preview.close(),
  };
}

function previewBy(how: Streaming, services: LiveServices, scope: TurnScope, journal: TurnJournal): Preview {
  const { channel } = scope;
  if (channel === null || how === "off") return noPreview;
  if (how === "block") return blockStream(scope, journal, services.config.messages.answerMaxChars);
  const canEdit = channel.capabilities.edits && channel.act !== undefined;
  return canEdit ? editedPreview(services, scope, channel, journal) : noPreview;
}

const title = "Thinking";
/** About one message; the end of longer thoughts tells most. */
const shownChars = 3_000;
const previewChars = 1_200;

/** Returns null when there were none. `tagged`: those from tags. */
export function thoughtsOf(entries: readonly Entry[], tagged: string, redaction: Redaction): string | null {
  const native = entries.flatMap((entry) =>
    entry.type === "assistant"
      ? entry.content.flatMap((part) => (part.type === "thinking" ? [part.text] : []))
      : [],
  );
  return shown(
    sanitizeOutbound([...native, tagged].filter((text) => text.trim() !== "").join("\n\n"), redaction),
    shownChars,
  );
}

/** `visible`: what a reply parser lets through of the thoughts so far. */
function growingThoughts(visible: string): string | null {
  return shown(visible, previewChars);
}

function shown(text: string, chars: number): string | null {
  const clean = text.trim();
  if (clean === "") return null;
  const end = clean.length <= chars ? clean : `…${clean.slice(-chars).replace(/^[\udc00-\udfff]/, "")}`;
  return `${title}\n\n${end
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n")}`;
}
