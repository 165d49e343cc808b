// Cuts what one person wrote out of a message of several, as the transcript of a shared place has it. Each
// message there stands under its sender's label, which nobody else can write (agent/user-message.ts).
import { label } from "@parley/protocol";
import { removedMark } from "./person.ts";

export interface Cut {
  /** The text without their messages. */
  readonly text: string;
  /** Their messages. */
  readonly said: readonly string[];
  /** Display names that stood on them. */
  readonly names: readonly string[];
  /** Somebody else's message that was addressed to the agent is left. */
  readonly isShared: boolean;
}

const labelled = /^\[from ("(?:[^"\\]|\\.)*") id (.*)\]$/;
const opens = /^<<<BEGIN_PARLEY_([A-Z_]+) ([0-9a-f]+)>>>$/;
const earlier = /^- ("(?:[^"\\]|\\.)*"): (".*")$/;
const repliedAbove = /^\[reply to the message above of ("(?:[^"\\]|\\.)*")\]$/;
const parleys = /^\[(?:Parley: |System Message\] )/;

/** `isTheirs` tells an id as it stands in the place; `known` are their names elsewhere. */
export function cutSaidBy(text: string, isTheirs: (id: string) => boolean, known: ReadonlySet<string>): Cut {
  const kept: string[] = [];
  const said: string[] = [];
  const names = new Set<string>();
  const documents = new Set<string>();
  let theirs: string[] | null = null;
  let isShared = false;
  let inHistory = false;
  let quote: string[] | null = null;
  let inQuote: string | null = null;

  const end = (): void => {
    if (theirs !== null) said.push(theirs.join("\n").trim());
    theirs = null;
  };
  const put = (line: string): void => void (theirs ?? kept).push(line);
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    if (inQuote !== null) {
      quote?.push(line);
      if (line.startsWith("<<<END_PARLEY_") && line.includes(inQuote)) inQuote = null;
      continue;
    }
    const [, kind = "", mark = ""] = opens.exec(line) ?? [];
    if (kind === "QUOTE") {
      end();
      quote = [...(quote ?? []), line];
      inQuote = mark;
      continue;
    }
    if (kind === "DOCUMENT") {
      end();
      const stop = lines.findIndex((each, nth) => nth > at && each === `<<<END_PARLEY_DOCUMENT ${mark}>>>`);
      const whole = lines.slice(at, stop < 0 ? undefined : stop + 1);
      const isOfTheirs = [...documents].some((name) => (whole[1] ?? "").includes(name));
      if (isOfTheirs) said.push(whole.slice(2, -1).join("\n"));
      kept.push(...(isOfTheirs ? [removedMark] : whole));
      at = stop < 0 ? lines.length : stop;
      continue;
    }
    if (kind === "HISTORY" || kind === "MEMORY" || kind === "STARTUP") end();
    if (kind === "HISTORY") inHistory = true;
    if (inHistory && line.startsWith("<<<END_PARLEY_HISTORY ")) {
      end();
      inHistory = false;
    }
    if (repliedAbove.test(line)) {
      end();
      quote = [...(quote ?? []), line];
      continue;
    }
    const [, name = '""', id] = labelled.exec(line) ?? [];
    if (id !== undefined) {
      end();
      if (isTheirs(id)) {
        names.add(nameIn(name));
        kept.push(removedMark);
        theirs = [];
      } else {
        if (!inHistory) isShared = true;
        kept.push(...ofTheirs(quote ?? [], known), line);
      }
      quote = null;
      continue;
    }
    const [, sender, words] = earlier.exec(line) ?? [];
    if (sender !== undefined && words !== undefined && known.has(nameIn(sender))) {
      end();
      said.push(nameIn(words));
      kept.push(`- ${removedMark}`);
      continue;
    }
    if (parleys.test(line)) end();
    if (theirs !== null) {
      const attached = /^\[attached \w+: ("(?:[^"\\]|\\.)*")/.exec(line)?.[1];
      if (attached !== undefined) documents.add(attached);
    }
    put(line);
  }
  end();
  if (quote !== null) kept.push(...quote);
  return { text: kept.join("\n"), said: said.filter((each) => each !== ""), names: [...names], isShared };
}

/** Their names as the labels write them. */
export function labelOf(name: string): string {
  return label(name, 64);
}

/** Somebody quoted them, or replied to a message of theirs that stands above. */
function ofTheirs(quote: readonly string[], known: ReadonlySet<string>): readonly string[] {
  const [first = "", note = ""] = quote;
  const whose = (repliedAbove.exec(first) ?? /replies to a message of ("(?:[^"\\]|\\.)*")/.exec(note))?.[1];
  if (whose === undefined || !known.has(nameIn(whose))) return quote;
  return [removedMark];
}

function nameIn(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    // A label that was cut is no JSON; it names nobody then.
    return "";
  }
}
