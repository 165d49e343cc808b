// Words to Parley inside a message: `/think high`, `/t low`, `/reasoning stream`. Alone they are a command that sets the session; beside
// other words they hold for that message and are taken out of it, everything else staying byte for byte. Code is never looked at.
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
  /** The message without them. */
  readonly text: string;
}

const names: { readonly [name: string]: "think" | "reasoning" } = {
  think: "think",
  thinking: "think",
  t: "think",
  reasoning: "reasoning",
  reason: "reasoning",
};

/** How people write them. */
export const directiveNames: readonly string[] = Object.keys(names);

/** Fenced blocks, also unclosed ones, and spans. */
const code = /(```[\s\S]*?(?:```|$)|~~~[\s\S]*?(?:~~~|$)|`[^`\n]*`)/;
const directive = /(^|\s)\/(thinking|think|t|reasoning|reason)(?::[ \t]*|[ \t]+)([a-z][a-z_-]*)(?![\w/-])/gi;

/** What a message asks for. Of several the last one counts; a word that is no level makes it ordinary text. */
export function readDirectives(message: string): Directives {
  const wanted: { thinking?: ThinkingLevel; reasoning?: ReasoningLevel } = {};
  let first = false;
  const kept = message.split(code).map((piece, index) => {
    // Odd pieces are what the expression caught: code.
    if (index % 2 === 1) return piece;
    return piece.replaceAll(directive, (whole: string, before: string, name: string, word: string) => {
      // The beginning of a later piece touches code.
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

/** The message as a command, when it is nothing but directives: or begins as one with a word that is no level, which is then answered. */
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
  // Words go along with a level that was understood at the beginning; without one the sender mistyped.
  return form.test(text.trim()) ? { name, args } : null;
}

/** Asks to go back to what the config says. */
export function isClearing(word: string): boolean {
  return clearing.has(word.toLowerCase());
}

/** What several messages that are answered together ask for: the newest word on each counts. */
export function wantedIn(messages: readonly string[]): Wanted {
  return messages.reduce<Wanted>((sum, message) => {
    const { text: _, ...wanted } = readDirectives(message);
    return { ...sum, ...wanted };
  }, {});
}
