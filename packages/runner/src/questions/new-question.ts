// Makes a question of what a turn asks: only where somebody reads it, and for the people whose words the
// turn follows, on every platform where they are known. It stores nothing.
import { isProgram, type Speakers } from "@parley/access";
import { sanitizeOutbound, type Redaction } from "@parley/agent";
import type { Channel } from "@parley/channels";
import { accountKey, Fault, parseConversationKey, type Clock } from "@parley/protocol";
import type { Inbox, Sessions } from "@parley/store";
import type { AskUser } from "@parley/tools";
import { isUnseen } from "../sessions/asked-rows.ts";
import type { Question } from "./question.ts";

export interface AskingOptions {
  readonly inbox: Pick<Inbox, "find">;
  readonly sessions: Pick<Sessions, "open">;
  readonly channel: (account: string) => Pick<Channel, "capabilities"> | null;
  readonly owners: () => Promise<readonly string[]>;
  /** Ids of one person on several platforms. */
  readonly identityLinks: { readonly [person: string]: readonly string[] };
  readonly redaction: Redaction;
  readonly clock: Clock;
}

type Asked = Parameters<AskUser["ask"]>;

/** Throws Fault: "denied" where nobody could answer, "invalid". */
export async function newQuestion(
  options: AskingOptions,
  scope: Asked[0],
  request: Asked[1],
  { id, untilMs }: { readonly id: string; readonly untilMs: number },
): Promise<Question> {
  const address = parseConversationKey(scope.conversation);
  const channel = options.channel(accountKey(address));
  const rows = await options.inbox.find({ turn: scope.turn, limit: 100 });
  if (channel === null || isProgram(address) || isUnseen(scope.session, rows))
    throw new Fault("denied", "nobody reads this turn's conversation, so nobody could answer");
  const people = await peopleFor(options, scope.by);
  if (people.length === 0)
    throw new Fault("denied", "no person's words began this turn, so there is nobody to ask");
  if (request.options.length > 0 && request.fields.length > 0)
    throw new Fault("invalid", "a question has options or fields, not both");
  const clean = (text: string): string => sanitizeOutbound(text, options.redaction).trim();
  const question = clean(request.question);
  if (question === "") throw new Fault("invalid", "nothing of this question can be shown");
  const { capabilities } = channel;
  return {
    v: 1,
    id,
    session: scope.session,
    epoch: (await options.sessions.open(scope.session)).epoch,
    turn: scope.turn,
    callId: scope.callId,
    conversation: scope.conversation,
    question,
    options: [...new Set(request.options.map(clean).filter((option) => option !== ""))],
    fields: request.fields.map(({ label, long }) => ({ label: clean(label), long })),
    numbered: !capabilities.inlineButtons && address.channel !== "web",
    people: [...people],
    owner: scope.by.owner,
    createdAtMs: options.clock.now(),
    expiresAtMs: untilMs,
    state: "open",
  };
}

/** Everyone who may answer: those whose words the turn follows, on every platform where they are known. */
async function peopleFor(
  options: Pick<AskingOptions, "owners" | "identityLinks">,
  { owner, senders }: Speakers,
): Promise<readonly string[]> {
  const own = senders.filter((person) => !isProgram({ channel: person.slice(0, person.indexOf(":")) }));
  const meant = owner ? [...own, ...(await options.owners())] : own;
  const linked = Object.values(options.identityLinks).filter((ids) => ids.some((id) => meant.includes(id)));
  return [...new Set([...meant, ...linked.flat()])];
}
