// Lets the agent say and do more in chats than answer: send beside its answer, or elsewhere, and edit,
// delete, react, pin, poll, open threads. The call only says what is to be done; the outbox does it, once
// (I4, I5).
import { basename } from "node:path";
import { Fault, visibleText, type MediaFile } from "@parley/protocol";
import { z } from "zod";
import { messageActions } from "../ports/messages.ts";
import type { ToolContext } from "../context.ts";
import { defineTool } from "../define-tool.ts";
import { readForPeople } from "../files/private-notes.ts";
import { readBytes } from "../files/rooted.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";
import { knownMessage } from "../message-names.ts";

/** What Telegram takes from bots; few surfaces take more, and a file is held in memory once. */
const fileBytes = 50_000_000;
const mostFiles = 10;

const short = (chars: number) => z.string().min(1).max(chars);

const button = z.object({
  label: short(80),
  value: short(1_000).exactOptional().describe("What comes back when it is pressed; absent: the label."),
  style: z.enum(["primary", "success", "danger"]).exactOptional(),
  url: z
    .url({ protocol: /^https?$/ })
    .max(2_000)
    .exactOptional()
    .describe("Opens a page instead."),
  choices: z
    .array(z.object({ label: short(100), value: short(1_000) }))
    .min(1)
    .max(25)
    .exactOptional()
    .describe("Makes it a menu."),
  form: z
    .array(z.object({ name: short(40), label: short(45), long: z.boolean().exactOptional() }))
    .min(1)
    .max(5)
    .exactOptional()
    .describe("Fields to fill in after the press."),
});

const args = z.object({
  action: z.enum(messageActions),
  to: short(300)
    .optional()
    .describe(
      "Absent: here. Else a session key, telegram:ID, telegram:ID:topic:N, discord:channel:ID, discord:user:ID, a known person's, group's or channel's name, or the handle of a call that opened a thread.",
    ),
  text: z.string().max(100_000).optional().describe("Markdown. With media it is the caption."),
  media: z.array(short(500)).max(mostFiles).default([]).describe("Files of the workspace."),
  voice: z.boolean().default(false).describe("The one file is a recording: show it as a voice note."),
  as: z
    .enum(["file", "sticker", "video_note"])
    .optional()
    .describe("file: unchanged, as a document. The others, where the surface has them, for one file."),
  silent: z.boolean().default(false).describe("Without a sound or a banner for people."),
  buttons: z.array(z.array(button).min(1).max(8)).max(10).optional().describe("Rows of buttons."),
  poll: z
    .object({
      question: short(1_000),
      options: z.array(short(500)).min(1).max(25),
      multiple: z.boolean().default(false),
      anonymous: z.boolean().optional().describe("Absent: as the surface has it."),
      hours: z
        .number()
        .int()
        .min(1)
        .max(10_000)
        .optional()
        .describe("How long it is open. Absent: as the surface has it."),
    })
    .optional(),
  messageId: short(64).optional().describe("A message of that conversation, by the platform's id."),
  handle: short(300).optional().describe("A message that you sent, by what its call returned."),
  emoji: z.string().max(64).optional().describe("For react; empty: take your reaction back."),
  title: short(200).optional().describe("For thread."),
  tags: z.array(short(50)).max(5).default([]).describe("For thread in a forum."),
});

export const messageListing: ToolListing = {
  name: "message",
  label: "Message",
  section: "messaging",
  profiles: ["messaging"],
  effect: "sends",
  summary: "Send messages and channel actions",
};

export function message(context: ToolContext): Tool {
  const { messages } = context;
  const tool = defineTool({
    ...messageListing,
    description:
      "Sends a message beside your answer, here or elsewhere, and edits, deletes, reacts, pins, polls and opens threads. " +
      "send and poll need content; reply quotes messageId or handle (absent: the message you answer); edit, delete, react, pin and unpin need messageId or handle; thread needs title. " +
      "Returns a handle of the message at once; it goes out in order, by itself. thread returns the new thread's id. " +
      "What you sent here is part of the conversation: do not say it again in your answer.",
    args,
    keyed: true,
    outside({ to, action, media, ...more }, { session, conversation }) {
      if (to === undefined || to === session || to === conversation) return null;
      const { text = "", messageId, handle, voice: _voice, tags, ...rest } = more;
      const beside = Object.entries({ messageId, handle, ...rest }).filter(
        ([, value]) => value !== undefined,
      );
      return [
        `${action} to ${visibleText(to)}`,
        ...(text === "" ? [] : [visibleText(text)]),
        ...media.map((path) => `file: ${visibleText(path)}`),
        ...tags.map((tag) => `tag: ${visibleText(tag)}`),
        ...beside.map(([name, value]) => `${name}: ${visibleText(JSON.stringify(value))}`),
      ].join("\n");
    },
    async run({ media, ...request }, scope) {
      const kept: MediaFile[] = [];
      // One file at a time is in memory.
      for (const path of media) {
        const bytes = await readForPeople(context, scope, path, async ({ handle, size }) => {
          if (size > fileBytes)
            throw new Fault(
              "invalid",
              `${path} has ${size} bytes; at most ${fileBytes} can be sent. Send a link or a part.`,
            );
          return readBytes(handle, 0, size);
        });
        kept.push(await messages.keep(bytes, basename(path)));
      }
      const { text, ...more } = await messages.act(scope, { ...request, files: kept });
      return { content: [{ type: "text", text }], ...more };
    },
  });
  return { ...tool, parse: (sent) => tool.parse(knownMessage(sent)) };
}
