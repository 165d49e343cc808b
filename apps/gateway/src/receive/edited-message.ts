// Plans the row of an edit, by what the message is that waits: its words are replaced, and a command stays as
// it was given. As mere words a /new would begin nothing anew, and what was said behind it would be answered
// twice.
import {
  conversationKey,
  isFault,
  isOpening,
  parseRowPayload,
  type RowPayload,
  type SkillCall,
} from "@parley/protocol";
import type { Inbox, NewRow, RowView } from "@parley/store";
import { steer } from "../commands/conversation/steer.ts";
import type { Admitted } from "../commands/chat-command.ts";
import { parseCommand } from "../commands/parse-command.ts";
import { rowOf } from "./new-rows.ts";

const mostWaiting = 1_000;

export async function editRow(
  inbox: Pick<Inbox, "find">,
  by: Admitted,
  skill: SkillCall | null,
): Promise<NewRow> {
  const { inbound } = by;
  const edited = await waitingMessage(inbox, by);
  if (edited?.command !== undefined)
    return rowOf(
      by,
      { kind: "closed", outcome: "superseded", reason: "a command that waits stays as it was given" },
      null,
    );
  if (edited?.steer !== true) return rowOf(by, { kind: "edit" }, null, skill);
  const given = parseCommand(inbound.text);
  const text = given?.name === steer.name && given.args !== "" ? given.args : inbound.text;
  return rowOf({ ...by, inbound: { ...inbound, text } }, { kind: "edit" }, null, null, true);
}

/** Null where it does not wait any more, or was never heard. */
async function waitingMessage(
  inbox: Pick<Inbox, "find">,
  { inbound, route }: Admitted,
): Promise<RowPayload | null> {
  const waiting = await inbox.find({ lane: route.session, state: "waiting", limit: mostWaiting });
  const conversation = conversationKey(inbound.address);
  const own = waiting.filter((row) => row.conversation === conversation && !isOpening(row.id));
  return own.map(readable).find((payload) => payload?.inbound.messageId === inbound.messageId) ?? null;
}

/** Null for a row that this version cannot read; whoever takes it puts it aside. */
function readable({ payload }: RowView): RowPayload | null {
  try {
    return parseRowPayload(payload);
  } catch (error) {
    if (isFault(error, "invalid")) return null;
    throw error;
  }
}
