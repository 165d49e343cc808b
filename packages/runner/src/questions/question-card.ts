// Renders a question in its chat: buttons for a few options, a menu for more, a form for fields, and always
// how to answer in words. The outcome later takes the place of the buttons.
import {
  conversationKey,
  parseConversationKey,
  visibleText,
  type Button,
  type Capabilities,
  type Part,
} from "@parley/protocol";
import type { CellWrite, NewDelivery } from "@parley/store";
import { cardDelivery, cardParts, outcomeInCard, type CardPlace } from "../shown-card.ts";
import type { Question } from "./question.ts";

/** More options become a menu, where the platform has one. */
const mostButtons = 5;
/** Longer labels get a row of their own. */
const shortLabel = 16;

export function questionCard(
  question: Question,
  capabilities: Pick<Capabilities, "forms">,
  closes: string | null,
): { readonly delivery: NewDelivery; readonly cells: readonly CellWrite[] } {
  const place = placeOf(question);
  const markdown = `❓ ${question.question}\n\n${howToAnswer(question)}`;
  const buttons = buttonsOf(question, capabilities);
  const meant: readonly Part[] = [{ kind: "text", markdown, buttons }];
  const { parts, cells } = cardParts(meant, place);
  const delivery = cardDelivery(parts, place);
  return { delivery: closes === null ? delivery : { ...delivery, closes }, cells };
}

/** The question with its outcome, without buttons, wherever it is shown. */
export function endedCards(question: Question): readonly NewDelivery[] {
  return [question.conversation, ...(question.followed ?? [])].map((conversation) =>
    outcomeInCard(`❓ ${question.question}\n\n${endWords(question)}`, placeOf({ ...question, conversation })),
  );
}

function endWords({ state, answer }: Question): string {
  if (state === "answered" && answer !== undefined) return `✅ ${answer.text}\n(${answerer(answer)})`;
  if (state === "expired") return "⌛ Nobody answered in time.";
  return state === "written" ? "💬 Answered by a message." : "⏹ Stopped.";
}

/** Who answered: people choose their own names, so the id stands beside. */
export function answerer({ by, name }: NonNullable<Question["answer"]>): string {
  const shown = visibleText(name.slice(0, 40));
  return shown === "" ? visibleText(by) : `${shown}, ${visibleText(by)}`;
}

function placeOf({ id, conversation, turn }: Question): CardPlace {
  const address = parseConversationKey(conversation);
  return { id: `question:${id}:${conversationKey(address)}`, address, cause: turn };
}

function howToAnswer({ id, options, fields, conversation, createdAtMs, expiresAtMs }: Question): string {
  const minutes = Math.max(1, Math.round((expiresAtMs - createdAtMs) / 60_000));
  const within = `within ${minutes} minute${minutes === 1 ? "" : "s"}`;
  const asked =
    fields.length === 0 ? "" : `Please tell me: ${fields.map(({ label }) => label).join(", ")}.\n`;
  const isPrivate = parseConversationKey(conversation).kind === "dm";
  const how = isPrivate ? "write your answer here" : "answer this message";
  const first = options.length === 0 ? how.charAt(0).toUpperCase() + how.slice(1) : `Choose, or ${how}`;
  return `${asked}${first}, ${within}; elsewhere: \`/answer ${id} …\`.`;
}

function buttonsOf(
  { id, conversation, options, fields, people, expiresAtMs }: Question,
  { forms }: Pick<Capabilities, "forms">,
): readonly (readonly Button[])[] {
  const value = `/answer ${id}`;
  const { channel } = parseConversationKey(conversation);
  const ids = people.flatMap((person) =>
    person.startsWith(`${channel}:`) ? [person.slice(channel.length + 1)] : [],
  );
  const limits = { allowed: ids, untilMs: expiresAtMs };
  if (fields.length > 0)
    return forms
      ? [
          [
            {
              label: "Fill in",
              value,
              style: "primary",
              form: fields.map(({ label, long }, index) => ({ name: `${index + 1}. ${label}`, label, long })),
              ...limits,
            },
          ],
        ]
      : [];
  const choices = options.map((label, index) => ({ label, value: `${value} #${index + 1}` }));
  if (choices.length > mostButtons) return [[{ label: "Choose", choices, ...limits }]];
  const areShort = options.every((label) => label.length <= shortLabel);
  const buttons = choices.map((choice): Button => ({ ...choice, ...limits }));
  return areShort ? [buttons] : buttons.map((button) => [button]);
}
