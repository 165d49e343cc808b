// Summarises the beginning of a conversation: asks in portions that fit the window, each portion's summary
// going into the next question, and checks what came back. A failing model leaves everything as it was; the
// caller decides what follows.
import type { Model, ModelError } from "@parley/models";
import { addUsage, noUsage, type Clock, type Entry, type Usage } from "@parley/protocol";
import { ask } from "../loop/answer.ts";
import { headOf } from "../plain-line.ts";
import { disarm } from "../untrusted.ts";
import { identifiersIn } from "./identifiers.ts";
import { summaryRequest, summarySystem, told } from "./summary-prompt.ts";
import { charsPerToken } from "./size.ts";

export interface SummaryPorts {
  readonly model: Model;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

export interface SummaryInput {
  readonly previous: string | null;
  /** The entries that the summary replaces, oldest first. */
  readonly entries: readonly Entry[];
  readonly focus?: string;
  /** Most tokens of one question. */
  readonly inputTokens: number;
  readonly maxChars: number;
  /** Adds the newest identifiers that the summary lost. */
  readonly keepIdentifiers: boolean;
  readonly cacheKey: string;
  readonly mark: string;
}

export type Summarised =
  | { readonly ok: true; readonly text: string; readonly usage: Usage }
  | { readonly ok: false; readonly reason: string; readonly usage: Usage };

/**
 * A conversation of more portions is far too long for its window; the oldest are left out, and the summary
 * says so.
 */
const mostPortions = 8;
/** How often a portion is halved because the provider counts more tokens than we do. */
const mostHalvings = 3;
const keptIdentifiers = 12;
const identifierTitle = "## Identifiers, word for word";

export async function summarise(input: SummaryInput, ports: SummaryPorts): Promise<Summarised> {
  let usage = noUsage;
  let portionChars = Math.max(2_000, input.inputTokens * charsPerToken - input.maxChars);
  for (let halved = 0; ; halved += 1) {
    const portions = portionsOf(input.entries, portionChars);
    const left = portions.slice(-mostPortions);
    let text =
      portions.length > left.length
        ? joined(input.previous, "(The beginning could not be read any more.)")
        : input.previous;
    let error: ModelError | undefined;
    for (const conversation of left) {
      const answer = await askOnce(input, ports, text, conversation);
      usage = addUsage(usage, answer.usage);
      error = answer.error;
      if (error !== undefined) break;
      text = answer.text;
      if (text.trim() === "") return { ok: false, reason: "the model wrote no summary", usage };
    }
    if (error === undefined) return { ok: true, text: finished(text ?? "", input), usage };
    if (error.kind !== "context_overflow" || halved >= mostHalvings)
      return { ok: false, reason: `${error.kind}: ${error.message}`, usage };
    portionChars = Math.floor(portionChars / 2);
  }
}

function joined(...texts: readonly (string | null)[]): string {
  return texts.filter((text) => text !== null).join("\n\n");
}

interface Once {
  readonly text: string;
  readonly usage: Usage;
  readonly error?: ModelError;
}

async function askOnce(
  input: SummaryInput,
  { model, signal, clock }: SummaryPorts,
  previous: string | null,
  conversation: string,
): Promise<Once> {
  const { focus, maxChars, mark, cacheKey } = input;
  const text = summaryRequest({
    previous,
    conversation,
    maxChars,
    mark,
    ...(focus === undefined ? {} : { focus }),
  });
  const events = ask(
    model,
    {
      system: { stable: summarySystem, volatile: "" },
      messages: [{ role: "user", content: [{ type: "text", text }] }],
      tools: [],
      thinking: "off",
      // Leaves room for models that think even when told not to.
      maxTokens: Math.min(model.maxTokens, Math.ceil(maxChars / charsPerToken) * 2),
      cacheKey,
    },
    new Set(),
    signal,
    clock,
  );
  for (;;) {
    const step = await events.next();
    if (step.done !== true) continue;
    const { entry, error } = step.value;
    const said = entry.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
    return { text: said, usage: entry.usage, ...(error === undefined ? {} : { error }) };
  }
}

/**
 * Splits the conversation into texts of at most `maxChars`; it cuts an entry only if that alone is longer.
 */
function portionsOf(entries: readonly Entry[], maxChars: number): readonly string[] {
  const portions: string[] = [];
  let portion = "";
  for (const entry of entries) {
    const line = headOf(told(entry), maxChars);
    if (line === "") continue;
    if (portion !== "" && portion.length + line.length > maxChars) {
      portions.push(portion);
      portion = "";
    }
    portion += `${line}\n`;
  }
  if (portion !== "" || portions.length === 0) portions.push(portion);
  return portions;
}

/** Bounds the summary, makes it harmless as part of a message, and adds identifiers that it lost. */
function finished(text: string, { entries, maxChars, keepIdentifiers }: SummaryInput): string {
  const body = disarm(text.trim());
  const wanted = keepIdentifiers ? identifiersIn(entries.map(told).join("\n"), keptIdentifiers) : [];
  const missing = wanted.filter((name) => !body.includes(name));
  const list =
    missing.length === 0
      ? ""
      : disarm(`\n\n${identifierTitle}\n${missing.map((name) => `- ${name}`).join("\n")}`);
  return withinLines(body, maxChars - list.length) + list;
}

/** Cuts at the end of a line where there is one near the limit. */
function withinLines(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const head = headOf(text, Math.max(0, maxChars - 2));
  const line = head.lastIndexOf("\n");
  return `${line > head.length / 2 ? head.slice(0, line) : head}\n…`;
}
