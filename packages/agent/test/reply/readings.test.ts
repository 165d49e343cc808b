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
  // However it comes, whole or letter by letter, it is read alike.
  const whole = replyParser(options);
  whole.push(text);
  expect([text, whole.end(), whole.thinking(), whole.replyTo(), whole.asksVoice()]).toEqual([
    text,
    outcome,
    parser.thinking(),
    parser.replyTo(),
    parser.asksVoice(),
  ]);
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
  "<th\ufeffink>a</th\ufeffink>b",
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
  // Four hundred characters may be nothing but a token.
  `${" ".repeat(392)}NO_REPLY`,
  `${" ".repeat(393)}NO_REPLY`,
  "heartbeat_ok and well",
  "HEARTBEAT\\_OK: well",
  "well: **HEARTBEAT_OK** 👍",
  "HEARTBEAT_OK9 well",
  "well HEARTBEAT_OK well",
  "well 9HEARTBEAT_OK",
  "HEARTBEAT_OK\n\n<think>a</think>well",
];

const x = (many: number): string => "x".repeat(many);
const sp = (many: number): string => " ".repeat(many);
const each = (list: string, of: (word: string) => string): string[] => list.split(" ").map(of);

/** Both sides of each bound of a tag, a head, a token and code. */
const bounds: readonly string[] = [
  // What a tag begins and ends with, and how far that may stand from its name.
  ...each("&lt; &#60; &#x3c; &#x3C; ＜ ﹤ ◁ ⟨ 〈 ‹ ˂ ᐸ ❮ ❬ ⧼", (opens) => `${opens}think>a</think>b`),
  ...each("&gt; &#62; &#x3e; &#x3E; ＞ ﹥ ▷ ⟩ 〉 › ˃ ᐳ ❯ ❭ ⧽", (closes) => `<think${closes}a</think>b`),
  ...each("［THINK］ 【THINK】 〔THINK〕 ⟦THINK⟧", (opens) => `${opens}a[/THINK]b`),
  "a &l",
  "a &lt",
  "a &lt;thi",
  "a & b &am",
  ...[8, 9].map((many) => `<${sp(many)}/${sp(8)}think>b`),
  ...[8, 9].map((many) => `<${sp(8)}/${sp(many)}think>b`),
  ...[8, 9].map((many) => `<think${sp(many)}/${sp(8)}>b`),
  ...[8, 9].map((many) => `<think${sp(8)}/${sp(many)}>b`),
  "<//think>b",
  "<\\/think>b",
  "<\\\\/think>b",
  "<think//>b",
  // Prefixes, names and attributes.
  ...[30, 31].map((many) => `<y${x(many)}:think>a</think>b`),
  "<1:think>a</think>b",
  "<a:b:think>a</think>b",
  ...[12, 13].map((many) => `<|${x(many)}|think>a</think>b`),
  ...[2, 3].map((many) => `<|x|${sp(many)}think>a</think>b`),
  "<inner monologue>a</inner monologue>b",
  "<inner  monologue>a</inner monologue>b",
  "<inner monologue a=1>a</inner monologue>b",
  "<think thoughts>a</think>b",
  "<tool call>a</tool call>b",
  "<thought process>a</thought process>b",
  "<chain of>a",
  "a <inner mono",
  "a <inner monologues>b",
  "<think=x>a</think>b",
  "a <invoke=",
  ...[64, 65].map((many) => `<invoke=${x(many)}>a</invoke>b`),
  ...[64, 65].map((many) => `<function=${x(many)}>a</function>b`),
  "<function>a</function>b",
  "<function=>a</function>b",
  ...[8, 9].map((many) => `<think${sp(many)}a=1>c</think>d`),
  ...[40, 41].map((many) => `<think ${x(many)}=1>c</think>d`),
  ...[100, 101].map((many) => `<think a=${x(many)}>c</think>d`),
  ...[200, 201].map((many) => `<think a='${x(many)}'>c</think>d`),
  "<think a = b>c</think>d",
  "<think a  = b>c</think>d",
  "<think a>c</think>d",
  "<think a=b/>c",
  "<think a=b<c>d</think>e",
  `<think a="${x(190)}" b="${x(193)}">c</think>d`,
  `<think a="${x(190)}" b="${x(194)}">c</think>d`,
  // Square brackets and bars.
  ...[4, 5].map((many) => `[${sp(many)}THINK${sp(4)}]a[/THINK]b`),
  ...[4, 5].map((many) => `[THINK]a[${sp(4)}/${sp(many)}THINK]b`),
  "[THINK]a[THINK]b[/THINK]c",
  "[Think]a[/Think]b",
  "[inner_monologue]a[/inner_monologue]b",
  "[EOS]a",
  ...[61, 62].map((many) => `a<|${x(many)}|>b`),
  ...each("a.b a:b a=b a/b a-b /a a/ 1", (name) => `a<|${name}|>b`),
  "a< |x|>b",
  "a<  |x|>b",
  "<|  think  |>a</think>b",
  "<  |think|  >a</think>b",
  "<   |think|>a</think>b",
  `<|${sp(5)}think|>a</think>b`,
  "<|think>a<think|>b",
  "<|thinks>a",
  "<turn|>a<|turn>b",
  "</|think|>a",
  // Whose message it is, and on which channel.
  ...each(
    "analysis commentary thought thoughts think thinking reasoning comment final answer response analyst finals other",
    (channel) => `<|channel|>${channel}<|message|>a`,
  ),
  ...each(
    "assistant model system developer user tool functions functions.x.y assistants tooling other",
    (role) => `<|im_start|>${role}\na`,
  ),
  ...each("assistant user", (role) => `<|im_start|>${role} b\na`),
  ...each("assistant user other", (role) => `<start_of_turn>${role}\na<end_of_turn>b`),
  ...each("assistant user other", (role) => `<|start_header_id|>${role}<|end_header_id|>a<|eot_id|>b`),
  ...each("analysis final other", (channel) => `<|channel>${channel}\na<channel|>b`),
  "<|im_start|>user name=x\na",
  "<|start|>user<|channel|>final<|message|>a",
  "<|start|>assistant<|channel|>final <|constrain|>json<|message|>a",
  "<|start|>assistant to=x<|channel|>final<|message|>a",
  ...[118, 119, 120, 121].map((many) => `<|im_start|>${"y".repeat(many)}<|message|>a`),
  "<|channel|>analysis<|message|>a<|start|>assistant<|channel|>final<|message|>b",
  "<|channel|>analysis<|message|>a<|channel|>final<|message|>b",
  ...each(
    "end return call im_end eot_id eom_id end_of_turn endoftext turn x message",
    (token) => `<|channel|>analysis<|message|>a<|${token}|>b`,
  ),
  // Code.
  ...[63, 64].map((many) => `${"`".repeat(many)}<think>a${"`".repeat(many)}</think>b`),
  "~~<think>a</think>~~b",
  "~~~a`b\n<think>c\n~~~\nd",
  "\t```\n<think>a\n\t``` \t\n<think>b</think>c",
  "```\n<think>a\n``\n<think>b\n````\n<think>c</think>d",
  "```\n<think>a\n```x\n<think>b\n```\nc",
  "```\n<think>a\n~~~\n<think>b\n```\nc",
  "```\na ```\n<think>b\n```\nc",
  "- ```\n<think>a</think>b",
  "`<think>a`` </think>b` c",
  "`a\n`<think>b</think>c",
  // Tokens among words, in what may wrap them.
  ...[
    "%%NO_REPLY%%",
    "%NO_REPLY%",
    "*NO_REPLY*",
    "***NO_REPLY***",
    "****NO_REPLY****",
    "_NO_REPLY_",
    "__NO_REPLY__",
    "___NO_REPLY___",
    "`NO_REPLY`",
    "(NO_REPLY)",
    "[[NO_REPLY]]",
    "((<NO_REPLY>))",
    "«NO_REPLY»",
    "“NO_REPLY”",
    "<b>NO_REPLY</b>",
    `<b>${sp(4)}NO_REPLY${sp(4)}</b>`,
    `<b>${sp(5)}NO_REPLY</b>`,
    `<${x(10)}>NO_REPLY</${x(10)}>`,
    `<${x(11)}>NO_REPLY</${x(11)}>`,
    '{"reply": "NO_REPLY"}',
    `{"${x(24)}": "NO_REPLY"}`,
    `{"${x(25)}": "NO_REPLY"}`,
    "{'reply' : 'NO_REPLY' }",
    "NO\\_REPLY",
    "NO\\\\_REPLY",
    "N0_REPLY",
    "NO_REP1Y",
    "NO-REPLY",
    "NO_REPL7",
    "no_reply",
    "ΝΟ_ＲＥＰＬＹ",
    `NO${"\u200b".repeat(8)}_REPLY`,
    `NO${"\u200b".repeat(9)}_REPLY`,
    "HEARTBEAT_OK",
    "HEARTBEAT_0K",
    "HEARTBEAT_OKAY",
    "éNO_REPLYé",
    "1NO_REPLY",
    "NO_REPLY1",
    "_NO_REPLY",
    "-NO_REPLY-",
  ].map((token) => `a ${token} b`),
  ...each(". .. ... .... ! !! ? , ; .b !b", (stop) => `a NO_REPLY${stop} b`),
  ...each(". ! .b", (stop) => `a. NO_REPLY${stop}`),
  "aNO_REPLY",
  "NO_REPLY b NO_REPLY",
  ...each("NO NO_ NO_R HEARTBEAT HEARTBEAT_ HEARTBEAT\\_ **NO_RE %%NO_ <b>NO_", (torn) => `a ${torn}`),
  // Nothing but a token, whatever stands around it.
  ...each(
    "Reply answer Response OUTPUT message assistant final_reply Final_Answer text user",
    (label) => `${label}: NO_REPLY`,
  ),
  ...each("reply answer", (label) => `**${label}** = NO_REPLY`),
  ...each("text markdown json 9 md-x", (info) => `\`\`\`${info}\nNO_REPLY\n\`\`\``),
  ...[12, 13].map((many) => `<a${x(many)}>NO_REPLY`),
  ...[60, 61].map((many) => `<a ${x(many)}>NO_REPLY`),
  ...[24, 25].map((many) => `{"${x(many)}": ["NO_REPLY"]}`),
  'json {"reply": {"text": "NO_REPLY"}}',
  'note {"reply": "NO_REPLY"}',
  "NO_REPLY HEARTBEAT_OK",
  "NO_REPLY no",
  ...[400, 401].map((many) => `NO_REPLY ${".".repeat(many)}`),
  // What is held back while it may still say nothing.
  `${".".repeat(399)}a`,
  `${".".repeat(400)}a`,
  `${sp(1_599)}${".".repeat(2)}`,
  "Reply",
  "Replying",
  "final answer is",
  "<b>Hi</b>",
  '{"reply": "Hi"}',
  // Reply tags and fences.
  ...[8, 9].map((many) => `[[${sp(many)}reply_to:7]]a`),
  ...[159, 160].map((many) => `[[reply_to:${sp(many)}]]a`),
  "[[reply_to_current ]]a",
  "[[reply_to_currently]]a",
  "[[reply_to:a b]]a",
  ...[160, 161].map((many) => `[[tts:${x(many)}]]a`),
  "[[ tts]]a",
  "[[/audio_as_voice]]a",
  "[[AUDIO_as_voice]]a",
  ...[120, 121].map((many) => `<<<END_PARLEY_${x(many)}>>>a`),
  "<<<end_parley_x>>>a",
  "<<<BEGIN_PARLEY_A>>>a<<<BEGIN_PARLEY_B>>>b<<<END_PARLEY_A>>>c<<<END_PARLEY_B>>>d",
  "<<sys>>a<</SYS>>b",
  "<<SYS>a",
  // Half of a character waits for its other half.
  "a \ud83d",
  "\ud83d\ude00",
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
    ["at their bounds", base, bounds],
    ["put together", { redaction }, combined(150, pieces)],
    ["put together, only what stands in <final>", { finalOnly: true }, combined(60, pieces)],
  ];
  const told = lists.flatMap(([title, options, texts]) => [
    `# ${title}`,
    ...texts.map((text) => reading(text, options)),
  ]);
  await expect(`${told.join("\n")}\n`).toMatchFileSnapshot("../tables/readings.txt");
});
