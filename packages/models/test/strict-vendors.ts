// Vendors' servers that refuse what the vendors refuse, written from their references and from what people
// report of them, not from our code.
type Fields = { readonly [field: string]: unknown };

export interface Vendor {
  /** Why the vendor answers 400; null when it does not. */
  readonly refuses: (body: Fields) => string | null;
  readonly thinksAndCalls: string;
  readonly says: string;
}

const list = (value: unknown): readonly Fields[] => (Array.isArray(value) ? (value as Fields[]) : []);
const keysBeside = (object: Fields, known: readonly string[]): string[] =>
  Object.keys(object).filter((key) => !known.includes(key));
const sse = (...events: readonly object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

// ---- chat completions ----

const messageKeys = ["role", "content", "tool_calls", "tool_call_id", "name"];
const requestKeys = [
  "model",
  "messages",
  "tools",
  "tool_choice",
  "stream",
  "stream_options",
  "max_tokens",
  "max_completion_tokens",
];

function chatShape(body: Fields): string | null {
  const messages = list(body["messages"]);
  for (const [at, message] of messages.entries()) {
    // No server of this API takes anything but text in the results of tools.
    if (message["role"] === "tool" && typeof message["content"] !== "string")
      return `messages.${at}.content must be a string`;
    if (message["role"] === "tool" && !["assistant", "tool"].includes(String(messages[at - 1]?.["role"])))
      return `messages.${at}: unexpected tool`;
  }
  return null;
}

const noMessageFieldBeside = (known: readonly string[]) => (body: Fields) => {
  for (const [at, message] of list(body["messages"]).entries()) {
    const [extra] = keysBeside(message, known);
    if (extra !== undefined) return `'messages.${at}' : property '${extra}' is unsupported`;
  }
  return null;
};
const noFieldBeside = (known: readonly string[]) => (body: Fields) => {
  const [extra] = keysBeside(body, known);
  return extra === undefined ? null : `extra inputs are not permitted: ${extra}`;
};
const thoughtsBesideCalls = (body: Fields): string | null => {
  const missing = list(body["messages"]).findIndex(
    (message) => message["tool_calls"] !== undefined && (message["reasoning_content"] ?? "") === "",
  );
  return missing < 0
    ? null
    : `The reasoning_content in the thinking mode must be passed back to the API (messages.${missing})`;
};
const mistralIds = (body: Fields): string | null => {
  const ids = list(body["messages"]).flatMap((message) => [
    ...list(message["tool_calls"]).map(({ id }) => String(id)),
    ...(typeof message["tool_call_id"] === "string" ? [message["tool_call_id"]] : []),
  ]);
  const wrong = ids.find((id) => !/^[a-zA-Z0-9]{9}$/.test(id));
  return wrong === undefined
    ? null
    : `Tool call id was ${wrong} but must be a-z, A-Z, 0-9, with a length of 9.`;
};
const mistralOrder = (body: Fields): string | null => {
  const messages = list(body["messages"]);
  const at = messages.findIndex(({ role }, nth) => role === "user" && messages[nth - 1]?.["role"] === "tool");
  return at < 0 ? null : "Unexpected role 'user' after role 'tool'";
};
const detailsBack = (body: Fields): string | null => {
  const calls = list(body["messages"]).filter((message) => message["reasoning_details"] !== undefined);
  const whole = JSON.stringify([
    {
      type: "reasoning.text",
      text: "let me see",
      signature: "sealed",
      format: "anthropic-claude-v1",
      index: 0,
    },
  ]);
  return calls.every((message) => JSON.stringify(message["reasoning_details"]) === whole)
    ? null
    : "reasoning_details are not as they came";
};

const first =
  (...rules: readonly ((body: Fields) => string | null)[]) =>
  (body: Fields): string | null =>
    rules.map((rule) => rule(body)).find((reason) => reason !== null) ?? null;

const delta = (part: object, finish: string | null = null): object => ({
  choices: [{ index: 0, delta: part, finish_reason: finish }],
});
const usage = { choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } };
const twoCalls = ["call_a", "call_b"].map((id, index) => ({
  index,
  id,
  type: "function",
  function: { name: "weather", arguments: JSON.stringify({ city: id === "call_a" ? "Oslo" : "Rome" }) },
}));
const chat = (thought: object, refuses: Vendor["refuses"]): Vendor => ({
  refuses: first(chatShape, refuses),
  thinksAndCalls:
    sse(delta(thought), delta({ tool_calls: twoCalls }), delta({}, "tool_calls"), usage) + "data: [DONE]\n\n",
  says: sse(delta({ content: "done" }), delta({}, "stop"), usage) + "data: [DONE]\n\n",
});
const reasoningContent = { reasoning_content: "let me see" };

// ---- Google ----

function geminiShape({ contents }: Fields): string | null {
  const turns = list(contents).map((content) => ({ role: content["role"], parts: list(content["parts"]) }));
  for (const [at, { parts }] of turns.entries()) {
    const calls = parts.filter((part) => "functionCall" in part).length;
    const answers = (turns[at + 1]?.parts ?? []).filter((part) => "functionResponse" in part).length;
    const kinds = parts.map((part) => "functionResponse" in part);
    if (kinds.includes(true) && kinds.lastIndexOf(true) !== kinds.filter((kind) => kind).length - 1)
      return "function responses must stand together";
    if (calls !== answers) {
      return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
    }
  }
  return null;
}

const gemini = (parts: readonly object[]): string =>
  sse({
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 4 },
  });

// ---- Anthropic ----

function anthropicShape({ messages, thinking }: Fields): string | null {
  const turns = list(messages);
  const blocks = (message: Fields | undefined): readonly Fields[] => list(message?.["content"]);
  for (const [at, message] of turns.entries()) {
    const uses = blocks(message)
      .filter(({ type }) => type === "tool_use")
      .map(({ id }) => id);
    const results = blocks(turns[at + 1])
      .filter(({ type }) => type === "tool_result")
      .map((block) => block["tool_use_id"]);
    if (uses.some((id) => !results.includes(id)))
      return `messages.${at}: tool_use ids were found without tool_result blocks immediately after`;
    if (uses.some((id) => !/^[a-zA-Z0-9_-]+$/.test(String(id))))
      return `messages.${at}: tool_use.id must match ^[a-zA-Z0-9_-]+$`;
  }
  const isInTools = blocks(turns.at(-1)).some(({ type }) => type === "tool_result");
  const opening = String(blocks(turns.findLast(({ role }) => role === "assistant"))[0]?.["type"]);
  return (thinking as Fields | undefined)?.["type"] === "enabled" &&
    isInTools &&
    !["thinking", "redacted_thinking"].includes(opening)
    ? `messages: Expected \`thinking\` or \`redacted_thinking\`, but found \`${opening}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block`
    : null;
}

const anthropic = (blocks: readonly (readonly [object, object])[], stop: string): string =>
  sse(
    {
      type: "message_start",
      message: {
        id: "m",
        type: "message",
        role: "assistant",
        model: "c",
        content: [],
        usage: { input_tokens: 9, output_tokens: 1 },
      },
    },
    ...blocks.flatMap(([content_block, part], index) => [
      { type: "content_block_start", index, content_block },
      { type: "content_block_delta", index, delta: part },
      ...("thinking" in content_block
        ? [{ type: "content_block_delta", index, delta: { type: "signature_delta", signature: "sealed" } }]
        : []),
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 4 } },
    { type: "message_stop" },
  );
const use = (id: string, city: string): readonly [object, object] => [
  { type: "tool_use", id, name: "weather", input: {} },
  { type: "input_json_delta", partial_json: JSON.stringify({ city }) },
];

// ---- Ollama ----

const ollamaShape =
  (takes: (think: unknown) => boolean) =>
  ({ think, messages }: Fields): string | null => {
    if (think !== undefined && !takes(think)) return `invalid think value: ${JSON.stringify(think)}`;
    const wrong = list(messages).find(({ content }) => typeof content !== "string");
    return wrong === undefined ? null : "json: cannot unmarshal into api.Message.content";
  };
const line = (message: object, more: object = { done: false }): string =>
  `${JSON.stringify({ message: { role: "assistant", content: "", ...message }, ...more })}\n`;
const end = line({}, { done: true, done_reason: "stop", prompt_eval_count: 9, eval_count: 4 });
const called = ["Oslo", "Rome"].map((city) => ({ function: { name: "weather", arguments: { city } } }));
const ollama = (takes: (think: unknown) => boolean): Vendor => ({
  refuses: ollamaShape(takes),
  thinksAndCalls: line({ thinking: "let me see" }) + line({ tool_calls: called }) + end,
  says: line({ content: "done" }) + end,
});

export const vendors = {
  unknown: chat(
    reasoningContent,
    first(noMessageFieldBeside(messageKeys), noFieldBeside([...requestKeys, "reasoning_effort"])),
  ),
  openai: chat(
    {},
    first(noMessageFieldBeside(messageKeys), ({ max_tokens: limit }) =>
      limit === undefined ? null : "Unsupported parameter: 'max_tokens'",
    ),
  ),
  openrouter: chat(
    {
      reasoning_details: [
        { type: "reasoning.text", text: "let me ", signature: null, format: "anthropic-claude-v1", index: 0 },
        { type: "reasoning.text", text: "see", signature: "sealed", format: "anthropic-claude-v1", index: 0 },
      ],
    },
    detailsBack,
  ),
  groq: chat(
    { reasoning: "let me see" },
    first(noMessageFieldBeside(messageKeys), noFieldBeside([...requestKeys, "reasoning_effort"])),
  ),
  mistral: chat(
    { content: [{ type: "thinking", thinking: [{ type: "text", text: "let me see" }] }] },
    first(
      mistralIds,
      mistralOrder,
      noMessageFieldBeside(messageKeys),
      noFieldBeside([...requestKeys.filter((key) => key !== "stream_options"), "reasoning_effort"]),
      ({ reasoning_effort: effort }) =>
        effort === undefined || effort === "none" || effort === "high" ? null : "reasoning_effort",
    ),
  ),
  deepseek: chat(reasoningContent, thoughtsBesideCalls),
  moonshot: chat(reasoningContent, thoughtsBesideCalls),
  zai: chat(reasoningContent, () => null),
  "openai-responses": {
    refuses: ({ prompt_cache_key: key }) =>
      /telegram|123456789/.test(String(key)) ? "a person's id left the house" : null,
    thinksAndCalls: sse(
      { type: "response.created", response: { id: "r", created_at: 1, model: "m" } },
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { id: "rs", type: "reasoning", summary: [], encrypted_content: "sealed" },
      },
      ...twoCalls.flatMap(({ id, function: { name, arguments: args } }, at) => [
        {
          type: "response.output_item.added",
          output_index: at + 1,
          item: { id: `fc_${id}`, type: "function_call", call_id: id, name, arguments: "" },
        },
        {
          type: "response.output_item.done",
          output_index: at + 1,
          item: {
            id: `fc_${id}`,
            type: "function_call",
            call_id: id,
            name,
            arguments: args,
            status: "completed",
          },
        },
      ]),
      { type: "response.completed", response: { usage: { input_tokens: 9, output_tokens: 4 } } },
    ),
    says: sse(
      { type: "response.created", response: { id: "r", created_at: 1, model: "m" } },
      { type: "response.output_item.added", output_index: 0, item: { id: "msg", type: "message" } },
      {
        type: "response.output_text.delta",
        item_id: "msg",
        output_index: 0,
        content_index: 0,
        delta: "done",
      },
      { type: "response.completed", response: { usage: { input_tokens: 9, output_tokens: 4 } } },
    ),
  },
  "anthropic-messages": {
    refuses: anthropicShape,
    thinksAndCalls: anthropic(
      [
        [
          { type: "thinking", thinking: "", signature: "" },
          { type: "thinking_delta", thinking: "let me see" },
        ],
        use("call_a", "Oslo"),
        use("call_b", "Rome"),
      ],
      "tool_use",
    ),
    says: anthropic(
      [
        [
          { type: "text", text: "" },
          { type: "text_delta", text: "done" },
        ],
      ],
      "end_turn",
    ),
  },
  "google-generative-ai": {
    refuses: geminiShape,
    thinksAndCalls: gemini([
      { text: "let me see", thought: true },
      { functionCall: { id: "call_a", name: "weather", args: { city: "Oslo" } }, thoughtSignature: "sealed" },
      { functionCall: { id: "call_b", name: "weather", args: { city: "Rome" } } },
    ]),
    says: gemini([{ text: "done" }]),
  },
  ollama: ollama((think) => typeof think === "boolean"),
  "ollama graded": ollama((think) => typeof think === "string" && ["low", "medium", "high"].includes(think)),
} as const satisfies { readonly [name: string]: Vendor };
