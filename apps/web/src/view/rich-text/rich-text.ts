// Adds what an answer's HTML needs but cannot bring, because it is made of text only: a copy button for code
// blocks, diagrams, and spoilers that open. It works on finished messages, and never takes what it adds from
// the answer.
import { copyText } from "../../parts/clipboard.ts";
import { t } from "../../texts/texts.ts";

const copyLabel = t.chat.copy;

/** Repeats change nothing. */
export function dressRichText(root: ParentNode): void {
  for (const block of root.querySelectorAll("article:not(.draft) .rich pre:not(.dressed)")) {
    block.classList.add("dressed");
    // A long line is read by scrolling, with keys too.
    block.setAttribute("tabindex", "0");
    const button = document.createElement("button");
    button.className = "quiet copy";
    button.textContent = copyLabel;
    button.addEventListener("blur", () => (button.textContent = copyLabel));
    const frame = document.createElement("div");
    frame.className = "code";
    block.replaceWith(frame);
    frame.append(block, button);
    if (block.querySelector("code.language-mermaid") !== null) frame.append(diagramButton());
  }
  for (const spoiler of root.querySelectorAll(".rich .spoiler:not([tabindex])")) {
    spoiler.setAttribute("tabindex", "0");
    spoiler.setAttribute("role", "button");
    spoiler.setAttribute("aria-label", t.chat.spoiler);
  }
}

/** What draws it is fetched when somebody presses. */
function diagramButton(): HTMLElement {
  const button = document.createElement("button");
  button.className = "quiet show-diagram";
  button.textContent = t.chat.showDiagram;
  button.setAttribute("aria-expanded", "false");
  return button;
}

/** For a click or a key anywhere in the conversation. */
export function pressInRichText(event: Event): void {
  const target = event.target instanceof Element ? event.target : null;
  if (event instanceof KeyboardEvent && event.key !== "Enter" && event.key !== " ") return;
  const spoiler = target?.closest(".spoiler:not(.shown)");
  if (spoiler instanceof HTMLElement) {
    event.preventDefault();
    spoiler.classList.add("shown");
    for (const name of ["role", "aria-label"]) spoiler.removeAttribute(name);
  }
  const button = event.type === "click" ? target?.closest("button:is(.copy, .copy-text)") : null;
  if (button instanceof HTMLElement) void copy(button);
  const diagram = event.type === "click" ? target?.closest("button.show-diagram") : null;
  if (diagram instanceof HTMLElement) void import("./diagram.ts").then((it) => it.toggleDiagram(diagram));
}

async function copy(button: HTMLElement): Promise<void> {
  const code = button.dataset["text"] ?? button.parentElement?.querySelector("pre")?.textContent ?? "";
  button.textContent = (await copyText(code)) ? t.act.copied : t.act.notCopied;
}
