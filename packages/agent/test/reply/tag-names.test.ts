// Every name that models give to what is not for people, and every edge of one: the list stands here a second
// time, so that no member is lost unseen.
import { expect, test } from "vitest";
import { replyParser } from "../../src/index.ts";

const words = (text: string): string[] => text.trim().split(/\s+/u);
const thoughts = words(`
  think thinking thought thoughts reasoning antthinking reflection scratchpad cot chain_of_thought monologue inner_monologue
  internal_monologue inner_thought inner_thoughts internal_thought internal_thoughts internal_reasoning inner_reasoning thought_process
  thinking_process reasoning_process hidden_thought hidden_thoughts longcat_think redacted_thinking redacted_reasoning
`);
const tools = words(`
  tool_call tool_calls tool_use tool_result tool_results tool_response tool_responses tool_output tool_outputs tool_code tools_call
  toolcall toolcalls function_call function_calls functioncall function_result function_results function_response invoke
  available_tools system_reminder relevant_memories available_skills longcat_tool_call longcat_tool_result
`);
const answers = words("final answer final_answer finalanswer");
const tokens = words("start_of_turn end_of_turn eos bos pad unk end_of_utterance end_of_text endoftext inst");

function shown(text: string): string {
  const parser = replyParser();
  parser.push(text);
  const outcome = parser.end();
  const part = outcome.kind === "reply" ? outcome.parts[0] : undefined;
  return part?.kind === "text" ? part.markdown : "";
}

test.each([...thoughts, ...tools])(
  "what <%s> holds is not for people, nor between edges of that name",
  (name) => {
    const dashed = name.replaceAll("_", "-");
    for (const [opens, closes] of [
      [`<${name}>`, `</${name}>`],
      [`<${dashed}>`, `</${dashed}>`],
      [`[${name.toUpperCase()}]`, `[/${name.toUpperCase()}]`],
      [`<|${name}|>`, `<|/${name}|>`],
      [`<begin_of_${name}>`, `<end_of_${name}>`],
      [`<start_of_${name}>`, `<end_${name}>`],
      [`<begin_${name}>`, `<${name}_end>`],
      [`<start_${name}>`, `<${name}_end>`],
      [`<${name}_begin>`, `<${name}_end>`],
      [`<${name}_start>`, `<${name}_end>`],
    ])
      expect([opens, shown(`Yes.\n${opens}\ninner\n${closes}\nNo.`)]).toEqual([opens, "Yes.\n\nNo."]);
    expect(shown(`Yes.\n<${name}s_>\nouter`)).toContain("outer");
  },
);

test.each([...answers, ...tokens])("<%s> is only taken off", (name) => {
  expect(shown(`<${name}>\nYes.\n</${name}>`)).toBe("Yes.");
});

test.each(words("solution response answer final"))("<|begin_%s|> is only taken off, between bars", (name) => {
  expect(shown(`<|begin_${name}|>Yes.<|end_${name}|>`)).toBe("Yes.");
  expect(shown(`<|${name}_start|>Yes.<|${name}_end|>`)).toBe("Yes.");
  expect(shown("<begin_solution>Yes.")).toBe("<begin_solution>Yes.");
});

test.each(words("action tool_calls_section tool_call_argument"))(
  "<|begin_%s|> opens a call, between bars",
  (name) => {
    expect(shown(`Yes.\n<|begin_${name}|>inner<|end_${name}|>\nNo.`)).toBe("Yes.\n\nNo.");
    expect(shown(`Yes.\n<|${name}_begin|>inner<|${name}_end|>\nNo.`)).toBe("Yes.\n\nNo.");
  },
);

test.each(words("channel tool_call tool_response tool turn think"))(
  "<|%s> and <%s|> are tokens with one bar",
  (name) => {
    expect(shown(`Yes.\n<|${name}>thought\n<${name}|>\nNo.`)).not.toContain(name);
    expect(shown(`Yes. <|${name}x> No.`)).toContain("x>");
  },
);

test("what is torn off in the middle of a name is taken away where no text has it by chance", () => {
  for (const name of [...thoughts, ...tools, "final", "answer", "final_answer"])
    for (const chars of [3, Math.max(3, name.length - 1), name.length]) {
      const torn = name.slice(0, chars);
      expect([torn, shown(`Yes.\n<${torn}`)]).toEqual([torn, "Yes."]);
      expect([torn, shown(`Yes.\n[${torn.toUpperCase()}`)]).toEqual([torn, "Yes."]);
      expect([torn, shown(`Yes.\n</${torn}`)]).toEqual([torn, "Yes."]);
    }
  for (const text of [
    "Yes.\n<th",
    "Yes.\n[TH",
    "Yes.\n<eos",
    "Yes.\n<inst",
    "Yes.\n[thin",
    "Yes.\n<|im",
    "Yes.\n<thinker",
  ])
    expect(shown(text)).toBe(text);
  for (const text of [
    "Yes.\n<|im_",
    "Yes.\n<|end",
    "Yes.\n<think ",
    "Yes.\n<think a",
    'Yes.\n<think a="b',
    "Yes.\n<function=lo",
    `Yes.\n<function=${"x".repeat(64)}`,
  ])
    expect([text, shown(text)]).toEqual([text, "Yes."]);
});
