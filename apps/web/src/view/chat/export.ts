// Hands a person their conversation as a Markdown file, made in the browser from all that was said in it.
import type { ChatMessage } from "@parley/protocol";
import type { Console } from "../../parts/console.ts";
import { shownMessages } from "../../session/state.ts";

/** Read in one go. */
const pageMessages = 1_000;

export function markdownOf(title: string, messages: readonly ChatMessage[]): string {
  const said = shownMessages(messages).map(
    ({ role, text, atMs }) => `### ${role}, ${new Date(atMs).toISOString()}\n\n${text}\n`,
  );
  return [`# ${title.replaceAll("\n", " ")}\n`, ...said].join("\n");
}

/** All of a conversation, the oldest first. */
async function wholeConversation(
  { call }: Pick<Console, "call">,
  thread: string | null,
): Promise<readonly ChatMessage[]> {
  const pages: (readonly ChatMessage[])[] = [];
  let beforeSeq: number | undefined;
  for (;;) {
    const { messages, hasEarlier } = await call("chat.history", {
      ...(thread === null ? {} : { thread }),
      limit: pageMessages,
      ...(beforeSeq === undefined ? {} : { beforeSeq }),
    });
    pages.unshift(messages);
    beforeSeq = messages[0]?.seq;
    if (!hasEarlier || beforeSeq === undefined) return pages.flat();
  }
}

export async function exportMarkdown(
  console: Pick<Console, "call">,
  thread: string | null,
  title: string,
): Promise<void> {
  const messages = await wholeConversation(console, thread);
  const address = URL.createObjectURL(new Blob([markdownOf(title, messages)], { type: "text/markdown" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `${title.replaceAll(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60)}.md`;
  link.click();
  URL.revokeObjectURL(address);
}
