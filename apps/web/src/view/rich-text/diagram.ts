// Shows the diagram that a code block describes, below it: in a frame that may run its script and nothing
// else, whose only word to this page is how high it is. The source stays where it was, whatever happens.
import { systemClock, type Timer } from "@parley/protocol";
import type { DiagramAnswer, DiagramOrder } from "../../diagram/messages.ts";
import { t } from "../../texts/texts.ts";

/** Longer ones are no diagrams that people read, and take Mermaid minutes. */
const mostChars = 20_000;
const withinMs = 15_000;
const highestPx = 4_000;
const clock = systemClock();

/** Shows the diagram of the block that `button` belongs to, or takes it away again. */
export function toggleDiagram(button: HTMLElement): void {
  const block = button.closest(".code");
  const shown = block?.querySelector(".diagram");
  button.textContent = shown === null ? t.chat.hideDiagram : t.chat.showDiagram;
  button.setAttribute("aria-expanded", shown === null ? "true" : "false");
  if (shown === null) block?.append(diagramOf(block.querySelector("pre")?.textContent ?? ""));
  else shown?.remove();
}

function diagramOf(source: string): HTMLElement {
  const place = document.createElement("div");
  place.className = "diagram";
  if (source.length > mostChars) fail(place, t.chat.diagramTooLong);
  else drawIn(place, source);
  return place;
}

function fail(place: HTMLElement, why: string): void {
  const told = document.createElement("p");
  told.className = "note alarm";
  told.setAttribute("role", "alert");
  told.textContent = why;
  place.replaceChildren(told);
}

function drawIn(place: HTMLElement, source: string): void {
  const frame = document.createElement("iframe");
  frame.title = t.chat.diagram;
  frame.setAttribute("sandbox", "allow-scripts");
  frame.setAttribute("referrerpolicy", "no-referrer");
  const status = document.createElement("p");
  status.className = "note";
  status.setAttribute("role", "status");
  status.textContent = t.chat.diagramComes;
  const watch = new AbortController();
  const { signal } = watch;
  const end = (why: string): void => {
    watch.abort();
    fail(place, why);
  };
  let late: Timer | undefined;
  const order = (): void => {
    const message: DiagramOrder = { type: "parley-diagram-draw", source, isDark: isDark() };
    late?.cancel();
    late = clock.after(withinMs, () => end(t.chat.diagramTooSlow));
    frame.contentWindow?.postMessage(message, "*");
  };
  const hear = ({ source: from, data }: MessageEvent<DiagramAnswer | null>): void => {
    // Its block was drawn anew or is gone, and the frame with it.
    if (!frame.isConnected) return watch.abort();
    if (from !== frame.contentWindow) return undefined;
    if (data?.type === "parley-diagram-failed") end(t.chat.diagramFailed(String(data.why).slice(0, 500)));
    if (data?.type !== "parley-diagram-drawn") return undefined;
    late?.cancel();
    status.remove();
    const heightPx = Number(data.heightPx);
    // Set by script, because the page's policy forbids styles in markup.
    if (heightPx > 0) frame.style.height = `${Math.min(heightPx, highestPx)}px`;
    return undefined;
  };
  signal.addEventListener("abort", () => late?.cancel());
  addEventListener("message", hear, { signal });
  // Once: a frame that goes elsewhere is told nothing more.
  frame.addEventListener("load", order, { once: true, signal });
  whenThemeChanges(() => (frame.isConnected ? order() : watch.abort()), signal);
  frame.src = "./diagram.html";
  place.replaceChildren(status, frame);
}

function isDark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
}

function whenThemeChanges(act: () => void, signal: AbortSignal): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", act, { signal });
  const chosen = new MutationObserver(act);
  chosen.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  signal.addEventListener("abort", () => chosen.disconnect());
}
