// What a delivery's parts hold: what is meant before the first sending, one rendered platform message after it.
import { z } from "zod";
import { Fault } from "./fault.ts";
import type { Part, RenderedPart } from "./part.ts";

/** What is meant; it is rendered when its turn to be sent comes. A preview is one message, however long its text has become. */
export type Meant =
  | { readonly v: 1; readonly kind: "reply"; readonly parts: readonly Part[]; readonly replyTo?: string }
  | { readonly v: 1; readonly kind: "preview"; readonly markdown: string; readonly replyTo?: string };

/** `rendered` is one platform message; `remove` takes a preview away, and ends what shows that an answer is coming. */
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
    // Only this product writes these; the version is what may differ after a downgrade.
    return known.parse(JSON.parse(text)) as unknown as Content;
  } catch (cause) {
    throw new Fault("invalid", "a delivery's content is of a form that this version does not know", {
      cause,
    });
  }
}
