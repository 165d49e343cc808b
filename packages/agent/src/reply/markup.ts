// What a model may write that is not for people: the names of tags, template tokens, fences and reply tags, as patterns.
import { fenceClose, fenceOpen } from "../untrusted.ts";
import { letters, pattern } from "./pattern.ts";

const thinkNames = ["think", "thinking", "thought", "thoughts", "antthinking", "antml:thinking", "reasoning"];
const finalNames = ["final", "answer", "final_answer"];
/** Blocks of tool protocols and of injected context, hidden with what they hold. */
const internalNames = [
  ..."tool_call tool_calls tool_use tool_result tool_results tool_response function_call function_calls".split(" "),
  ..."function_result function_results function_response invoke antml:function_calls antml:invoke".split(" "),
  ..."system-reminder system_reminder relevant-memories relevant_memories available_skills".split(" "),
];

const attributes = String.raw`(?:[ \t/][^<>\n]{0,200})?`;
const tagAtoms = (name: string): string[] => ["<", String.raw`\/?`, ...letters(name), attributes, ">"];

/** Every tag of the three families, open, closed or self-closed. */
export const tags = pattern([...thinkNames, ...finalNames, ...internalNames].map(tagAtoms), "i");

/** Fences of untrusted context, as a model may echo them. */
export const fences = pattern(
  [fenceOpen, fenceClose].map((head) => [...letters(head), String.raw`[^<>\n]{0,120}`, ">", ">", ">"]),
  "i",
);

/** Template tokens: ChatML and Llama 3, DeepSeek's full-width bars, Llama 2, Gemma. */
export const chatTokens = pattern(
  [
    ["<", String.raw`[|｜]`, String.raw`[^|｜<>[\]\n]{0,60}`, String.raw`[|｜]`, ">"],
    [String.raw`\[`, String.raw`\/?`, ...letters("INST]")],
    ["<", "<", String.raw`\/?`, ...letters("SYS>>")],
    ["<", ...letters("start_of_turn>")],
    ["<", ...letters("end_of_turn>")],
  ],
  "i",
);

/** `[[reply_to_current]]`, `[[reply_to:<id>]]` and whatever else begins like them. */
export const replyTags = pattern(
  [
    [
      String.raw`\[`,
      String.raw`\[`,
      String.raw`[ \t]{0,8}`,
      ...letters("reply_to"),
      String.raw`[^[\]\n]{0,160}`,
      String.raw`\]`,
      String.raw`\]`,
    ],
  ],
  "i",
);

export const markup = [tags, fences, chatTokens, replyTags] as const;
export const markupStarts = (): RegExp => /[<[]/gu;

export interface Tag {
  /** Blocks nest by family: `think`, `final`, or the name of an internal block. */
  readonly family: string;
  readonly name: string;
  readonly closing: boolean;
  readonly selfClosing: boolean;
}

export function readTag(text: string): Tag {
  const name = (/^<\/?([\w:-]+)/u.exec(text)?.[1] ?? "").toLowerCase();
  const family = thinkNames.includes(name) ? "think" : finalNames.includes(name) ? "final" : name;
  return { family, name, closing: text.startsWith("</"), selfClosing: text.endsWith("/>") };
}

/** The message id that a reply tag names, `current` for the triggering message, null for a tag that names nothing. */
export function readReplyTag(text: string): { readonly to: "current" } | { readonly to: "id"; readonly id: string } | null {
  const inside = /^\[\[\s*reply_to(.*)\]\]$/iu.exec(text)?.[1] ?? "";
  if (/^_current\s*$/iu.test(inside)) return { to: "current" };
  const id = /^\s*:\s*(\S{1,128})\s*$/u.exec(inside)?.[1];
  return id === undefined ? null : { to: "id", id };
}
