// Defines one question of `ask_user`: bound to one call of one turn and to the people who may answer. It is
// answered at most once; how it ended stands in it as long as anybody may ask.
import { createHash } from "node:crypto";
import { Fault, type ConversationKey, type SessionKey } from "@parley/protocol";
import { z } from "zod";

const questionSchema = z.object({
  v: z.literal(1),
  id: z.string(),
  session: z.string(),
  /** The session's epoch when it asked: after /new the conversation has forgotten the question. */
  epoch: z.number(),
  turn: z.string(),
  callId: z.string(),
  conversation: z.string(),
  /** Where else it is shown: the person took the conversation along. */
  followed: z.array(z.string()).optional(),
  question: z.string(),
  options: z.array(z.string()),
  fields: z.array(z.object({ label: z.string(), long: z.boolean() })),
  /** Its place shows the options as numbered lines, so that a number is an answer. */
  numbered: z.boolean(),
  /** `<channel>:<id>` of those who may answer; in an owner's turn every owner may. */
  people: z.array(z.string()),
  owner: z.boolean(),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
  state: z.enum(["open", "answered", "expired", "stopped", "written"]),
  answer: z.object({ text: z.string(), by: z.string(), name: z.string() }).optional(),
  endedAtMs: z.number().optional(),
});

/** `written`: somebody wrote a message instead, which is the answer or in its place. */
export interface Question extends Omit<
  z.infer<typeof questionSchema>,
  "session" | "conversation" | "followed"
> {
  readonly session: SessionKey;
  readonly conversation: ConversationKey;
  readonly followed?: readonly ConversationKey[] | undefined;
}

/** Letters of a question's id. */
export const idAlphabet = "abcdefghjkmnpqrstuvwxyz23456789";
const idChars = 8;

/** The same for every run of one call. */
export function questionId(turn: string, callId: string): string {
  const bytes = createHash("sha256")
    .update(JSON.stringify(["question", turn, callId]))
    .digest();
  return [...bytes.subarray(0, idChars)].map((byte) => idAlphabet[byte % idAlphabet.length]).join("");
}

export function formatQuestion(question: Question): string {
  return JSON.stringify(question);
}

/** Throws Fault("invalid") for a question that this build cannot read. */
export function parseQuestion(text: string): Question {
  const parsed = questionSchema.safeParse(JSON.parse(text));
  if (!parsed.success)
    throw new Fault("invalid", "a question is of a form that this version does not know", {
      cause: parsed.error,
    });
  return parsed.data as unknown as Question;
}

/**
 * The answer that the text chooses: an option by what its button says (`#2`), its words or its number, else
 * the text itself. Options may be numbers too, so a press never means words.
 */
export function chosenAnswer({ options }: Pick<Question, "options">, text: string): string {
  const said = text.trim();
  const pressed = /^#(\d{1,2})$/.exec(said)?.[1];
  if (pressed !== undefined) return options[Number(pressed) - 1] ?? said;
  const named = options.find((option) => option.toLowerCase() === said.toLowerCase());
  return named ?? (/^\d{1,2}$/.test(said) ? options[Number(said) - 1] : undefined) ?? said;
}
