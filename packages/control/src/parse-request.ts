// Parses one incoming message into a request or a refusal. It never throws, whatever a client sends.
import { requestFrame, type RequestFrame } from "@parley/protocol";

export type ReadFrame =
  | { readonly ok: true; readonly request: RequestFrame }
  | { readonly ok: false; readonly id: string | null; readonly reason: string };

/** Half of a surrogate pair can come only as an escape: the socket refuses it as bytes. */
const surrogateEscape = /\\u[dD][89a-fA-F]/;

/** No params are nested deeper; recursion over a deeper value could exhaust the stack. */
const deepest = 32;

export function readFrame(text: string): ReadFrame {
  const refuse = (reason: string, id: string | null = null): ReadFrame => ({ ok: false, id, reason });
  let value: unknown;
  try {
    // Half a character, as a cut text ends with, can be stored nowhere.
    value = surrogateEscape.test(text)
      ? JSON.parse(text, (_key, each: unknown) => (typeof each === "string" ? each.toWellFormed() : each))
      : JSON.parse(text);
  } catch {
    // The parser's message would only repeat what the client sent.
    return refuse("the frame is not JSON");
  }
  if (tooDeep(value, deepest)) return refuse(`the frame is nested more than ${deepest} levels deep`);
  const parsed = requestFrame.safeParse(value);
  if (parsed.success) return { ok: true, request: parsed.data };
  const id: unknown =
    typeof value === "object" && value !== null ? (value as { id?: unknown }).id : undefined;
  return refuse(
    'a frame is { type: "req", id, method, params }',
    typeof id === "string" && id.length <= 128 ? id : null,
  );
}

function tooDeep(value: unknown, levelsLeft: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levelsLeft === 0 || Object.values(value).some((each) => tooDeep(each, levelsLeft - 1));
}
