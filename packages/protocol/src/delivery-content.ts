// The content of a delivery's parts: the agent's parts before the first send, then one rendered platform
// message each.
import { z } from "zod";
import { Fault } from "./fault.ts";
import type { Part, RenderedPart } from "./part.ts";

/**
 * Content that is not rendered yet; the deliverer renders it when its turn comes. A preview is always one
 * message, however long.
 */
export type Meant =
  | { readonly v: 1; readonly kind: "reply"; readonly parts: readonly Part[]; readonly replyTo?: string }
  | { readonly v: 1; readonly kind: "preview"; readonly markdown: string; readonly replyTo?: string };

/**
 * `rendered` is one platform message. `remove` deletes a preview and ends the sign that an answer is coming.
 */
export type Content =
  | Meant
  | { readonly v: 1; readonly kind: "rendered"; readonly part: RenderedPart }
  | { readonly v: 1; readonly kind: "remove" };

const known = z.object({ v: z.literal(1), kind: z.enum(["reply", "preview", "rendered", "remove"]) }).loose();

export function formatContent(content: Content): string {
  return JSON.stringify(content);
}

/** Throws Fault("invalid") for content that this build cannot read. */
export function parseContent(text: string): Content {
  try {
    // Only Parley writes these, so the version is all that can differ, after a downgrade.
    return known.parse(JSON.parse(text)) as unknown as Content;
  } catch (cause) {
    throw new Fault("invalid", "a delivery's content is of a form that this version does not know", {
      cause,
    });
  }
}
