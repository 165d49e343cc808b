// Discord's calls for one interaction: respond to it, change or remove its first answer, follow up. Source:
// "Receiving and Responding to Interactions" in the developer documentation.
import type { APIInteraction } from "discord-api-types/v10";
import type { Suggestion } from "../../channel.ts";
import type { Forms } from "./forms.ts";
import { customIdOf, interactionTypes } from "./interaction-text.ts";
import type { DiscordRest } from "../rest.ts";

export const responses = { message: 4, deferredMessage: 5, deferredUpdate: 6, choices: 8, form: 9 } as const;
/** Message flag: only the person who caused the interaction sees the message. */
export const ephemeral = 1 << 6;

/** JSON, or JSON and files in one form. */
export interface Payload {
  readonly body?: unknown;
  readonly form?: FormData;
}

interface Token {
  readonly application: string;
  readonly token: string;
}

interface InteractionCalls {
  /** Sends the first answer; Discord takes it once. */
  respond(to: { readonly id: string; readonly token: string }, body: unknown): Promise<unknown>;
  /** Replaces the first answer, or "is thinking". */
  editOriginal(to: Token, payload: Payload, signal?: AbortSignal): Promise<unknown>;
  removeOriginal(to: Token): Promise<unknown>;
  followUp(to: Token, payload: Payload, signal?: AbortSignal): Promise<unknown>;
}

/** All throw Fault. */
export function interactionCalls(rest: DiscordRest): InteractionCalls {
  const original = ({ application, token }: Token) =>
    `/webhooks/${application}/${token}/messages/@original` as const;
  return {
    respond: ({ id, token }, body) =>
      rest.call({ method: "POST", route: `/interactions/${id}/${token}/callback`, body }),
    editOriginal: (to, payload, signal) =>
      rest.call({ method: "PATCH", route: original(to), ...payload, signal }),
    removeOriginal: (to) => rest.call({ method: "DELETE", route: original(to) }),
    followUp: ({ application, token }, payload, signal) =>
      rest.call({
        method: "POST",
        route: `/webhooks/${application}/${token}`,
        ...payload,
        signal,
      }),
  };
}

const mostChoices = 25;
const choiceChars = 100;

/** Discord takes each value once; one that is too long could not be chosen as it is. */
export function choicesOf(suggestions: readonly Suggestion[]): object {
  const known = new Map<string, string>();
  for (const { value, label } of suggestions)
    if (value !== "" && value.length <= choiceChars && !known.has(value))
      known.set(value, label.slice(0, choiceChars) || value);
  const choices = [...known].slice(0, mostChoices).map(([value, name]) => ({ name, value }));
  return { type: responses.choices, data: { choices } };
}

/** Answers interactions that need no row: the form behind a button. */
export function answerAtOnce(interaction: APIInteraction, forms: Pick<Forms, "find">): object | null {
  const type = interaction.type as number;
  const form = type === interactionTypes.component ? forms.find(customIdOf(interaction)) : null;
  return form === null ? null : { type: responses.form, data: form };
}
