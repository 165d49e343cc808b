// Implements /export_session: an owner gets this conversation's transcript as two files in the chat, JSONL
// for programs and a page for people, without secrets (I8).
import { accountKey, conversationKey, formatContent, isFault, type MediaFile } from "@parley/protocol";
import { exportLines, exportPage } from "@parley/runner";
import type { PastLaneCommand } from "../chat-command.ts";

/** The newest entries; more would not fit into one message of most platforms. */
const mostEntries = 5_000;

export const exportSession: PastLaneCommand = {
  name: "export_session",
  aliases: { export: "" },
  summary: "send me this conversation as files: JSONL and a page",
  place: "past-lane",
  ownersOnly: true,
  async run({ inbound, route }, { store, channel, mediaFolder, redaction, log }) {
    const { address } = inbound;
    const account = accountKey(address);
    const capabilities = channel(account)?.capabilities;
    if (capabilities?.media !== true) return "No files can be sent here. `parley sessions show` has it.";
    const session = await store.sessions.open(route.session);
    const stored = await store.sessions.transcript(route.session, {
      epoch: session.epoch,
      newest: true,
      limit: mostEntries,
    });
    if (stored.length === 0) return "There is nothing to export yet.";
    const file = async (text: string, extension: string, mediaType: string): Promise<MediaFile> => {
      const bytes = Buffer.from(text);
      const path = await mediaFolder.keep(bytes, extension);
      return { path, mediaType, bytes: bytes.length, name: `session.${extension}` };
    };
    let files: readonly MediaFile[];
    try {
      files = [
        await file(exportLines(stored, redaction), "jsonl", "application/jsonl"),
        await file(exportPage(route.session, stored, redaction), "html", "text/html"),
      ];
    } catch (error) {
      // A full disk must not hold up what people write.
      if (!isFault(error, "unavailable")) throw error;
      log.warn({ rows: [inbound.id], error }, "a transcript could not become a file");
      return "⚠️ The files could not be written. The operator can see why in the log.";
    }
    const parts = files.map((each) => ({ kind: "media" as const, media: "file" as const, files: [each] }));
    await store.outbox.post([
      {
        id: `export:${inbound.id}`,
        pool: account,
        lane: conversationKey(address),
        cause: inbound.id,
        parts: [{ content: formatContent({ v: 1, kind: "reply", parts }) }],
      },
    ]);
    return `${stored.length} entries of this conversation, without secrets.`;
  },
};
