// Draws a growing draft once a frame, however many pieces come; every other change at once.
import type { ChatState } from "../session/state.ts";

export function oncePerFrame(draw: (chat: ChatState) => void): (chat: ChatState) => void {
  let newest: ChatState | null = null;
  let frame: number | null = null;

  const now = (): void => {
    if (frame !== null) cancelAnimationFrame(frame);
    frame = null;
    if (newest !== null) draw(newest);
  };

  return (chat) => {
    const before = newest;
    newest = chat;
    // A page that nobody sees has no frames.
    if (before === null || !isDraftOnly(before, chat) || document.visibilityState !== "visible") now();
    else frame ??= requestAnimationFrame(now);
  };
}

function isDraftOnly(before: ChatState, after: ChatState): boolean {
  const { draft: _before, ...old } = before;
  const { draft: _after, ...rest } = after;
  const names = Object.keys(rest) as (keyof typeof rest)[];
  return before.draft !== null && after.draft !== null && names.every((name) => rest[name] === old[name]);
}
