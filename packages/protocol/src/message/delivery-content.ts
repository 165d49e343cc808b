// The content of a delivery's parts: the agent's parts or action before the first send, then one platform
// call each.
import { z } from "zod";
import type { Action, OutboxAction } from "./action.ts";
import { Fault } from "../fault.ts";
import type { Part, RenderedPart } from "./part.ts";

/** The message that an answer quotes: by the platform's id, or the first message of an earlier delivery. */
export type Quoted = string | { readonly delivery: string };

/**
 * Content that is not rendered yet; the deliverer renders it when its turn comes. A preview is always one
 * message, however long.
 */
export type Meant =
  | {
      readonly v: 1;
      readonly kind: "reply";
      readonly parts: readonly Part[];
      readonly replyTo?: Quoted;
      readonly silent?: true;
      /** The delivery that opened the thread it goes to; it went to the same lane. */
      readonly inThreadOf?: string;
    }
  | { readonly v: 1; readonly kind: "preview"; readonly markdown: string; readonly replyTo?: string }
  | { readonly v: 1; readonly kind: "action"; readonly action: OutboxAction };

/**
 * `rendered` is one platform message, `act` one action on the platform, each in `thread` where it names one.
 * `remove` deletes a preview and ends the sign that an answer is coming.
 */
export type Content =
  | Meant
  | { readonly v: 1; readonly kind: "rendered"; readonly part: RenderedPart; readonly thread?: string }
  | { readonly v: 1; readonly kind: "act"; readonly action: Action; readonly thread?: string }
  | { readonly v: 1; readonly kind: "remove" };

const known = z
  .object({ v: z.literal(1), kind: z.enum(["reply", "preview", "action", "rendered", "act", "remove"]) })
  .loose();

export function formatContent(content: Content): string {
  return JSON.stringify(content);
}

/** A delivery's content is read by all that plan, send and record it. Bounded (I9). */
const remembered = new Map<string, Content>();
const mostRemembered = { contents: 50, chars: 20_000 };

/** Throws Fault("invalid") for content that this build cannot read. */
export function parseContent(text: string): Content {
  const before = remembered.get(text);
  if (before !== undefined) return before;
  try {
    // Only Parley writes these, so the version is all that can differ, after a downgrade.
    const content = known.parse(JSON.parse(text)) as unknown as Content;
    if (text.length <= mostRemembered.chars) remembered.set(text, content);
    const [oldest] = remembered.keys();
    if (remembered.size > mostRemembered.contents && oldest !== undefined) remembered.delete(oldest);
    return content;
  } catch (cause) {
    throw new Fault("invalid", "a delivery's content is of a form that this version does not know", {
      cause,
    });
  }
}

/** False for what changes or removes messages: nobody waits for it as for an answer. */
export function isAnswer(content: Content): boolean {
  return content.kind === "reply" || content.kind === "preview" || content.kind === "rendered";
}
