// Hands a person their conversation as a Markdown file, made in the browser from what it has read.
import type { ChatMessage } from "@parley/protocol";
import { shownMessages } from "../session/state.ts";

export function markdownOf(title: string, messages: readonly ChatMessage[]): string {
  const said = shownMessages(messages).map(
    ({ role, text, atMs }) => `### ${role}, ${new Date(atMs).toISOString()}\n\n${text}\n`,
  );
  return [`# ${title.replaceAll("\n", " ")}\n`, ...said].join("\n");
}

export function exportMarkdown(title: string, messages: readonly ChatMessage[]): void {
  const address = URL.createObjectURL(new Blob([markdownOf(title, messages)], { type: "text/markdown" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `${title.replaceAll(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60)}.md`;
  link.click();
  URL.revokeObjectURL(address);
}
