// Parses directives inside a message, such as `/think high`, `/t low` or `/reasoning stream`. Alone they are
// a command that sets the session. Beside other words they apply to that message and are removed from it,
// every other byte unchanged. Code is never searched.
import {
  parseThinkingLevel,
  reasoningLevels,
  type ReasoningLevel,
  type ThinkingLevel,
} from "@parley/protocol";

export interface Wanted {
  readonly thinking?: ThinkingLevel;
  readonly reasoning?: ReasoningLevel;
}

export interface Directives extends Wanted {
  /** The message without its directives. */
  readonly text: string;
}

const names: { readonly [name: string]: "think" | "reasoning" } = {
  think: "think",
  thinking: "think",
  t: "think",
  reasoning: "reasoning",
  reason: "reasoning",
};

/** The names that people may type. */
export const directiveNames: readonly string[] = Object.keys(names);

/** Matches code spans and fenced blocks, also unclosed ones. */
const code = /(```[\s\S]*?(?:```|$)|~~~[\s\S]*?(?:~~~|$)|`[^`\n]*`)/;
const directive = /(^|\s)\/(thinking|think|t|reasoning|reason)(?::[ \t]*|[ \t]+)([a-z][a-z_-]*)(?![\w/-])/gi;

/**
 * Reads the directives of a message. The last of several counts, and an unknown level leaves the text as it
 * is.
 */
export function readDirectives(message: string): Directives {
  const wanted: { thinking?: ThinkingLevel; reasoning?: ReasoningLevel } = {};
  let first = false;
  const kept = message.split(code).map((piece, index) => {
    // The split puts the code that the expression captured at odd positions.
    if (index % 2 === 1) return piece;
    return piece.replaceAll(directive, (whole: string, before: string, name: string, word: string) => {
      // The beginning of a later piece touches code, so it is no word boundary.
      if (before === "" && index > 0) return whole;
      const about = names[name.toLowerCase()];
      const thinking = about === "think" ? parseThinkingLevel(word) : null;
      const reasoning = about === "reasoning" ? parseReasoningLevel(word) : null;
      if (thinking === null && reasoning === null) return whole;
      if (thinking !== null) wanted.thinking = thinking;
      if (reasoning !== null) wanted.reasoning = reasoning;
      first ||= before === "";
      return "";
    });
  });
  // The space before a directive goes with it; at the very beginning the one behind it does.
  const text = kept.join("");
  return { ...wanted, text: first ? text.replace(/^\s/, "") : text };
}

export function parseReasoningLevel(word: string): ReasoningLevel | null {
  return reasoningLevels.find((level) => level === word.trim().toLowerCase()) ?? null;
}

const form = /^\/(thinking|think|t|reasoning|reason)(?::|\s|$)\s*([\s\S]*)$/i;
const clearing = new Set(["default", "inherit", "clear", "reset", "unpin"]);

/**
 * Returns the message as a command when it holds only directives, or when it begins with one whose level is
 * unknown, so that the sender is told.
 */
export function directiveCommand(
  message: string,
): { readonly name: "think" | "reasoning"; readonly args: string } | null {
  const match = form.exec(message.trim());
  if (match === null) return null;
  const name = names[match[1]?.toLowerCase() ?? ""] ?? "think";
  const args = match[2]?.trim() ?? "";
  const { text, ...wanted } = readDirectives(message.trim());
  const found = wanted.thinking !== undefined || wanted.reasoning !== undefined;
  if (found && text.trim() === "") return { name, args };
  // Other words after a known level belong to the message; without a known level the sender mistyped.
  return form.test(text.trim()) ? { name, args } : null;
}

/** True for a word that returns to the config's value. */
export function isClearing(word: string): boolean {
  return clearing.has(word.toLowerCase());
}

/** Joins the directives of messages that are answered together: the newest of each kind counts. */
export function wantedIn(messages: readonly string[]): Wanted {
  return messages.reduce<Wanted>((sum, message) => {
    const { text: _, ...wanted } = readDirectives(message);
    return { ...sum, ...wanted };
  }, {});
}
