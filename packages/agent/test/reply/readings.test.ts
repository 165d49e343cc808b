// What answers become, each in one line of test/tables/readings.txt: chosen ones at the limits, and many that
// are put together of what models write. A diff there is a diff in behaviour.
import { expect, test } from "vitest";
import { type ReplyOptions, replyParser } from "../../src/index.ts";

const redaction = {
  secrets: ["hunter22", "with space/+", "short"],
  stateDirs: ["/home/ann/.parley/", "~/.parley"],
  workspaces: ["/home/ann/.parley/workspace", "~/.parley/workspace"],
};

/** Says of what only fills a text how often it stands there. */
const brief = (text: string): string =>
  text.replaceAll(/(.{1,4}?)\1{9,}/gsu, (all, once: string) => `{${all.length / once.length}×${once}}`);

function reading(text: string, options: ReplyOptions): string {
  const parser = replyParser(options);
  const seen = Array.from(text).map((letter) => parser.push(letter).visible);
  const outcome = parser.end();
  const [part] = outcome.kind === "reply" ? outcome.parts : [];
  const shown = part?.kind === "text" ? part.markdown : "";
  const last = seen.at(-1) ?? "";
  const told = [
    outcome.kind === "silent" ? `silent: ${outcome.reason}` : outcome.kind,
    ...(outcome.kind === "reply" && outcome.replyTo !== parser.replyTo() ? [`to ${outcome.replyTo}`] : []),
    ...(parser.replyTo() === undefined ? [] : [`quotes ${brief(parser.replyTo() ?? "")}`]),
    ...(parser.asksVoice() ? ["spoken"] : []),
    ...(parser.thinking() === "" ? [] : [`thought ${JSON.stringify(brief(parser.thinking()))}`]),
    // What was held back to the end, and where the preview began to show something.
    ...(last.trim() === shown ? [] : [`shown before the end ${JSON.stringify(brief(last))}`]),
    `begins at ${seen.findIndex((each) => each !== "")}`,
  ];
  return `${JSON.stringify(brief(text))} -> ${JSON.stringify(brief(shown))} ${told.join("; ")}`;
}

const plain: readonly string[] = [
  // Code, and where it ends.
  `\`${"x".repeat(999)}\` <think>a</think>b`,
  `\`<think>${"x".repeat(992)}\` </think>b`,
  `\`<think>${"x".repeat(993)}\` </think>b`,
  "``a ` <think>b`` c",
  "~~~\n<think>a\n```\n~~~\n<think>b</think>c",
  "````\n<think>a\n```\n````\n<think>b</think>c",
  "> ```\n> <think>a\n> ```\n<think>b</think>c",
  "so ```\n<think>a</think>```b",
  `\`\`\`${"i".repeat(200)}\n<think>a\n\`\`\`\nb`,
  `\`\`\`${"i".repeat(201)}\n<think>a</think>b`,
  "```a`b\n<think>c</think>d",
  "```\n<think>a",
  `${"`".repeat(64)}<think>a</think>b`,
  "a ` b\n<think>c` d</think>e",
  // Tags in every drawing, and what is none.
  "&lt;think&gt;a&lt;/think&gt;b",
  "&#60;think&#x3E;a&#x3c;/think&#62;b &#6",
  "＜ｔｈｉｎｋ＞a＜／ｔｈｉｎｋ＞b",
  "<th\u200bink>a</th\u200bink>b",
  "< / think >b",
  '<think mood="a > b" x=1>c</think>d',
  "<ns:think>a</ns:think>b",
  "<|x|think>a</think>b",
  "<function=look>a</function>b",
  "<function=look x",
  "<thinker>a</thinker>b",
  "<chain of thought>a</chain of thought>b",
  "<chain-of-thought>a</Chain_Of_Thought>b",
  `<think a="${"x".repeat(200)}">b</think>c`,
  `<think a="${"x".repeat(201)}">b</think>c`,
  `<think ${"a=1 ".repeat(96)}>b</think>c`,
  `<think ${"a=1 ".repeat(99)}>b</think>c`,
  "【think】a【/think】b",
  "[THINK]a[/THINK]b",
  "[think](https://a.test)",
  "[THINK](https://a.test)",
  "<eos>a<|eot_id|>b<|anything at all|>c",
  "<|channel>thought\na<channel|>b",
  "<|tool_call>a<tool_call|>b",
  "<think|>a",
  "<|begin_of_thought|>a<|end_of_thought|>b<|begin_of_solution|>c<|end_of_solution|>d",
  "<thinking_begin>a<thinking_end>b",
  "<<SYS>>a<</SYS>>b",
  "<thi",
  "a <tool_ca",
  "a <th",
  "[THIN",
  "[thin",
  // Heads of messages.
  "<|start|>assistant<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b",
  "<|channel|>commentary to=x <|constrain|>json<|message|>{}<|call|>b",
  "<|im_start|>assistant\na<|im_end|>b",
  "<|im_start|>user\na<|im_end|>b",
  "<|start_header_id|>assistant<|end_header_id|>\n\na",
  "<start_of_turn>model\na<end_of_turn>",
  "<|im_start|>tools are fine",
  `<|im_start|>${"x".repeat(130)}\na`,
  "<|channel|>final answer here",
  "<|channel|>analysisa",
  // Blocks in blocks.
  "<think>a<think>b</think>c</think>d",
  "<think><think>a</think>b",
  "<tool_call>a<think>b</tool_call>c",
  "<think>a</tool_call>b</think>c",
  "So <think> is a tag. <think>a</think>b",
  "Write <think>...</think> and <think></think> so",
  "<think> and </think> are tags",
  "<think>…</think> Then",
  "Use the </think> tag. a </think> b",
  "a</think>b",
  "a <final>b</final> c",
  "<final>a <final>b</final> c</final> d",
  "<think>a <final>b</final>",
  "<think>a <final>b</final> c",
  "<think>a <final>b</final>\n\n<final>c</final>  \n",
  "[think]a <final>b</final>",
  "1. **<think>** opens, *</think>* closes",
  // Fences of untrusted text, reply tags.
  "<<<BEGIN_PARLEY_RESULT 12>>>a<<<BEGIN_PARLEY_X 1>>>b<<<END_PARLEY_X 1>>>c<<<END_PARLEY_RESULT 12>>>d",
  "<<<END_PARLEY_RESULT 12>>>a",
  "<<<BEGIN_PARLEY_RESULT 12>>>a",
  "[[reply_to_current]]a[[reply_to:7]]",
  "[[ reply_to : 7 ]]a[[reply_to:8]]",
  "[[reply_to]]a",
  `[[reply_to:${"7".repeat(128)}]]a`,
  `[[reply_to:${"7".repeat(129)}]]a`,
  "a [[tts]][[/tts:x]] b",
  "[[reply_to:",
  // Tokens.
  "%%NO_REPLY%%",
  "a NO_REPLY. b",
  "NO_REPLY... a",
  "Yes!NO_REPLY! ",
  '{"reply": "NO_REPLY"}',
  '{"a": {"reply": "NO_REPLY"}}',
  "Final answer: NO_REPLY",
  "<b>HEARTBEAT_OK</b>",
  "NO_REPL",
  "HEARTBEAT\\_O",
  "N0_REP1Y a",
  `${" ".repeat(388)}NO_REPLY`,
  `${" ".repeat(393)}NO_REPLY`,
  // Secrets and places.
  "a hunter22 b short c with%20space%2F%2B with+space%2F%2B",
  `${Buffer.from("x hunter22 y").toString("base64")} ${Buffer.from("hunter22").toString("hex")}`,
  "/home/ann/.parley/secret.json and ~/.parley/x and /home/ann/.parley",
  "/home/ann/.parley/workspace/a.md and ~/.parley/workspace and /home/ann/.parley/workspace/../b",
  "/home/ann/.parley-old/x /home/ann/.parleyx ~/.parley/workspaces/a",
  "/home/ann/.parley/workspace/hunter22",
  "hunter2",
];
const heartbeats = [
  "HEARTBEAT_OK",
  "NO_REPLY",
  `HEARTBEAT_OK ${"x".repeat(300)}`,
  `HEARTBEAT_OK ${"x".repeat(301)}`,
  `${"x ".repeat(149)} HEARTBEAT_OK`,
  "All HEARTBEAT_OK is well",
  "All is well",
  "XHEARTBEAT_OK",
  "",
];

/** What models write, put together by a fixed row of numbers. */
function combined(many: number, pieces: readonly string[]): string[] {
  let seed = 7;
  const next = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  return Array.from({ length: many }, () =>
    Array.from({ length: 4 + next(6) }, () => pieces[next(pieces.length)] ?? "").join(""),
  );
}
const pieces = [
  ..."<think>|</think>|[THINK]|[/THINK]|<tool_call>|</tool_call>|<final>|</final>|<|channel|>|analysis|final".split(
    "|",
  ),
  ..."<|message|>§<|end|>§<|im_start|>§assistant\n§user\n§<<<BEGIN_PARLEY_RESULT 1>>>§<<<END_PARLEY_RESULT 1>>>".split(
    "§",
  ),
  "[[reply_to:7]]",
  "NO_REPLY",
  "**",
  "`",
  "```\n",
  "\n",
  "\n\n",
  ". ",
  ", ",
  " ",
  "(",
  ") ",
  '"',
  "{",
  "<",
  "so ",
  "Now ",
  "words",
  "Words. ",
  "x <",
  "/",
  "<Think>",
  "<invoke a=1>",
  "</invoke>",
  "&lt;think>",
];

test("answers are read like this", async () => {
  const base: ReplyOptions = { currentMessageId: "now", redaction };
  const lists: readonly (readonly [string, ReplyOptions, readonly string[]])[] = [
    ["as they are", base, plain],
    [
      "a message is quoted unless a tag says otherwise",
      { ...base, quotesCurrent: true },
      ["a", "[[reply_to:7]]a", "[[tts]]a"],
    ],
    [
      "only what stands in <final>",
      { finalOnly: true },
      plain.filter((text) => /final|think/u.test(text)).slice(0, 60),
    ],
    ["the answer to a heartbeat", { heartbeat: true }, heartbeats],
    ["put together", { redaction }, combined(150, pieces)],
    ["put together, only what stands in <final>", { finalOnly: true }, combined(60, pieces)],
  ];
  const told = lists.flatMap(([title, options, texts]) => [
    `# ${title}`,
    ...texts.map((text) => reading(text, options)),
  ]);
  await expect(`${told.join("\n")}\n`).toMatchFileSnapshot("../tables/readings.txt");
});
