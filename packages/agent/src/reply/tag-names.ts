// The names that models give to what is not for people, by family. A tag is one of these or it is text;
// nothing is guessed from its look.

/**
 * `think` and `tools` hide what they hold, `final` is only taken off, `channel` and `token` belong to chat
 * templates.
 */
export type Family = "think" | "tools" | "final" | "channel" | "token";

export interface Meaning {
  readonly family: Family;
  /** What closes it: any of its family where that thinks, the same name where it is a tool's. */
  readonly block: string;
  /** Fixed by the name itself, as in `end_of_thought`. */
  readonly closing: boolean;
}

const words = (text: string): string[] => text.trim().split(/\s+/u);

const think = words(`
  think thinking thought thoughts reasoning antthinking reflection scratchpad cot chain_of_thought monologue inner_monologue
  internal_monologue inner_thought inner_thoughts internal_thought internal_thoughts internal_reasoning inner_reasoning thought_process
  thinking_process reasoning_process hidden_thought hidden_thoughts longcat_think redacted_thinking redacted_reasoning
`);
const final = words("final answer final_answer finalanswer");
/** Blocks of tool protocols and of injected context. */
const tools = words(`
  tool_call tool_calls tool_use tool_result tool_results tool_response tool_responses tool_output tool_outputs tool_code tools_call
  toolcall toolcalls function_call function_calls functioncall function_result function_results function_response invoke
  available_tools system_reminder relevant_memories available_skills longcat_tool_call longcat_tool_result
`);
/** Of templates, in angle brackets without bars. */
const tokens = words("start_of_turn end_of_turn eos bos pad unk end_of_utterance end_of_text endoftext inst");
/** Only between bars, and only with their edges: as tags they would be words like any other. */
const barredTools = words("action tool_calls_section tool_call_argument");
const barredFinal = words("solution response answer final");

const begins = ["begin_of_", "start_of_", "begin_", "start_"];
const ends = ["end_of_", "end_"];

/** A name with every edge that says where its block begins or ends. */
function edged(name: string, family: Family): (readonly [string, Meaning])[] {
  const block = family === "tools" ? name : family;
  const opens = { family, block, closing: false };
  const closes = { family, block, closing: true };
  return [
    ...begins.map((edge) => [`${edge}${name}`, opens] as const),
    ...ends.map((edge) => [`${edge}${name}`, closes] as const),
    [`${name}_begin`, opens],
    [`${name}_start`, opens],
    [`${name}_end`, closes],
  ];
}

function known(names: readonly string[], family: Family): (readonly [string, Meaning])[] {
  return names.flatMap((name) => [
    [name, { family, block: family === "tools" ? name : family, closing: false }] as const,
    ...(family === "think" || family === "tools" ? edged(name, family) : []),
  ]);
}

const ofTags: ReadonlyMap<string, Meaning> = new Map([
  ...known(tools, "tools"),
  ...known(final, "final"),
  ...known(think, "think"),
  ...known(tokens, "token"),
]);
const channel: Meaning = { family: "channel", block: "channel", closing: false };
const ofBars: ReadonlyMap<string, Meaning> = new Map([
  ...ofTags,
  ...barredTools.flatMap((name) => edged(name, "tools")),
  ...barredFinal.flatMap((name) => edged(name, "final")),
  ["inner_prefix", { family: "think", block: "think", closing: false }],
  ["inner_suffix", { family: "think", block: "think", closing: true }],
  ["channel", channel],
  ["start", channel],
  ["message", channel],
]);
/** Template tokens that have one bar only: Gemma's. */
const ofHalfBars = new Set(words("channel tool_call tool_response tool turn think"));

const canonical = (name: string): string => name.toLowerCase().replaceAll(/[\s-]+/gu, "_");
const beginnings = new Set(
  [...ofTags.keys()].flatMap((name) =>
    Array.from({ length: name.length }, (_, chars) => name.slice(0, chars + 1)),
  ),
);

export function meaningOfTag(name: string): Meaning | null {
  return ofTags.get(canonical(name)) ?? null;
}

/** Every word between two bars is a token of some template. */
export function meaningBetweenBars(name: string): Meaning {
  return ofBars.get(canonical(name)) ?? { family: "token", block: "token", closing: false };
}

export function hasHalfBars(name: string): boolean {
  return ofHalfBars.has(canonical(name));
}

/** Whether more letters could still make a known name of this. */
export function beginsName(name: string): boolean {
  return beginnings.has(canonical(name));
}

/** Names that no text has by chance: what is torn off in the middle of one was a tag. */
export function isTornName(name: string): boolean {
  const start = canonical(name);
  return (
    start.length >= 3 &&
    [...think, ...tools, "final", "answer", "final_answer"].some((each) => each.startsWith(start))
  );
}
