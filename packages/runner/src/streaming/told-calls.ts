// Tells a conversation the tool calls of its turns where /verbose asks for it: each call once, in the
// transaction that records it, and with `full` the beginning of its result. What is told went through the
// filter of all outgoing text before it was cut, because half of a secret is not recognised (I8).
import { sanitizeOutbound, type Journal, type JournalStep, type Redaction } from "@parley/agent";
import { parseConversationKey, type Json } from "@parley/protocol";
import { textDelivery } from "@parley/delivery";
import type { NewDelivery, Session, Turn } from "@parley/store";

export const verboseLevels = ["off", "on", "full"] as const;
export type VerboseLevel = (typeof verboseLevels)[number];

/** The session field that /verbose writes. */
export const verboseField = "verbose";

export function verboseOf({ fields }: Pick<Session, "fields">): VerboseLevel {
  return verboseLevels.find((level) => level === fields[verboseField]) ?? "off";
}

const mostCalls = 10;
const callChars = 200;
const resultChars = 600;

/** The same journal, which tells the calls that it records. */
export function tellingCalls(
  journal: Journal,
  { id, conversation }: Pick<Turn, "id" | "conversation">,
  level: VerboseLevel,
  redaction: Redaction,
): Journal {
  if (level === "off") return journal;
  const address = parseConversationKey(conversation);
  const told = (step: JournalStep): readonly NewDelivery[] => {
    if (step.kind === "model") {
      const calls = step.entry.content.flatMap((part) => (part.type === "toolCall" ? [part] : []));
      const [first] = calls;
      if (first === undefined) return [];
      const lines = calls.slice(0, mostCalls).map((call) => callLine(call.name, call.args, redaction));
      const more = calls.length > mostCalls ? [`… and ${calls.length - mostCalls} more`] : [];
      return [textDelivery(`${id}/call/${first.id}`, address, [...lines, ...more].join("\n"), id)];
    }
    if (step.kind !== "result" || level !== "full") return [];
    const { callId, name, content, isError } = step.entry;
    const text = content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
    const words = resultWords(name, text, isError, redaction);
    return [textDelivery(`${id}/result/${callId}`, address, words, id)];
  };
  return {
    get steps() {
      return journal.steps;
    },
    absorb: () => journal.absorb(),
    checkpoint(steps, how = {}) {
      const deliveries = steps.flatMap(told);
      return deliveries.length === 0
        ? journal.checkpoint(steps, how)
        : journal.checkpoint(steps, { ...how, effects: [{ deliveries }, ...(how.effects ?? [])] });
    },
  };
}

function callLine(name: string, args: { readonly [key: string]: Json }, redaction: Redaction): string {
  const shown = Object.entries(args)
    .map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
  const clean = sanitizeOutbound(shown, redaction).replaceAll(/\s+/g, " ").replaceAll("`", "'").trim();
  return clean === ""
    ? `🛠️ **${plainName(name)}**`
    : `🛠️ **${plainName(name)}** \`${cut(clean, callChars)}\``;
}

function resultWords(name: string, text: string, isError: boolean, redaction: Redaction): string {
  const clean = cut(sanitizeOutbound(text, redaction).trim(), resultChars);
  const longest = Math.max(2, ...[...clean.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const head = `${isError ? "⚠️" : "↩️"} **${plainName(name)}**`;
  return clean === "" ? `${head}: no text` : `${head}\n${fence}\n${clean}\n${fence}`;
}

/** A model may call a tool by any name. */
function plainName(name: string): string {
  return name.replaceAll(/[^\w.-]/g, "").slice(0, 64);
}

function cut(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars).toWellFormed()}…`;
}
