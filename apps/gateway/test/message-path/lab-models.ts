// Three models that differ in how they think and in what they cost, and that keep what they were asked.
import {
  Fault,
  noUsage,
  thinkingLevels,
  type StopReason,
  type ThinkingLevel,
  type Usage,
} from "@parley/protocol";
import type { Model, ModelErrorKind, ModelEvent, ModelRequest, Models } from "@parley/models";

interface LabCall {
  readonly model: string;
  readonly text: string;
  readonly thinking: ThinkingLevel;
  readonly showThoughts: boolean;
  readonly system: string;
}

export interface Lab {
  readonly calls: LabCall[];
  /** The same, whole. */
  readonly requests: ModelRequest[];
  readonly models: () => Models;
  /** Awaited after each piece. */
  pause: () => Promise<void>;
  /** What the models think and say; `text` is the last user message. */
  script: (call: LabCall) => {
    readonly thinks?: readonly string[];
    readonly says?: string;
    readonly fails?: ModelErrorKind;
    readonly retryAfterMs?: number;
    readonly tool?: string;
    /** How the provider ends it. */
    readonly ends?: StopReason;
  };
}

/**
 * `deep` thinks at all levels and is priced, `plain` at the usual ones without a price, `words` has no
 * thinking of its own.
 */
export function labModels(): Lab {
  const lab: Lab = {
    calls: [],
    requests: [],
    pause: async () => {},
    script: ({ text }) => ({ thinks: ["hmm ", "so"], says: `re: ${text}` }),
    models: () => ({
      get: async (id) => {
        const found = all.find((model) => model.id === id);
        if (found === undefined) throw new Fault("invalid", `there is no "${id}"`);
        return found;
      },
      list: () => [],
    }),
  };

  async function* stream(
    model: Pick<Model, "id" | "priced" | "reasoning">,
    request: ModelRequest,
  ): AsyncGenerator<ModelEvent> {
    const users = request.messages.findLast(
      (message) => message.role === "user" && message.content.some((part) => part.type === "text"),
    );
    const text = (users?.content ?? [])
      .flatMap((part) => (part.type === "text" ? [part.text] : []))
      .join("\n");
    const { thinking, showThoughts = false, system } = request;
    const call: LabCall = {
      model: model.id,
      text,
      thinking,
      showThoughts,
      system: `${system.stable}\n${system.volatile}`,
    };
    lab.calls.push(call);
    lab.requests.push(request);
    const { thinks = [], says = "", fails, retryAfterMs = 0, tool, ends } = lab.script(call);
    const usage: Usage = {
      ...noUsage,
      inputTokens: 1_000,
      outputTokens: 100,
      ...(model.priced === true ? { costUsd: 0.4 } : {}),
    };
    if (fails !== undefined) {
      return yield {
        type: "end",
        stop: "error",
        usage: noUsage,
        content: [],
        error: { kind: fails, message: `it is ${fails}`, retryAfterMs },
      };
    }
    for (const delta of model.reasoning ? thinks : []) {
      yield { type: "thinking", delta };
      await lab.pause();
    }
    if (says !== "") {
      yield { type: "text", delta: says };
      await lab.pause();
    }
    const asked = request.messages.at(-1)?.role === "tool" && ends !== "toolUse" ? undefined : tool;
    yield {
      type: "end",
      stop: asked === undefined ? (ends ?? "stop") : "toolUse",
      usage,
      content: [
        ...(thinks.length > 0 && model.reasoning
          ? [{ type: "thinking" as const, text: thinks.join("") }]
          : []),
        ...(says === "" ? [] : [{ type: "text" as const, text: says }]),
        ...(asked === undefined ? [] : [{ type: "toolCall" as const, id: "c1", name: asked, args: {} }]),
      ],
    };
  }

  const model = (id: string, more: Partial<Model>): Model => {
    const made: Model = {
      id,
      contextWindow: 200_000,
      maxTokens: 8_000,
      vision: false,
      reasoning: true,
      ...more,
      stream: (request) => stream(made, request),
    };
    return made;
  };
  const all = [
    model("lab/deep", { thinking: thinkingLevels, priced: true }),
    model("lab/plain", {}),
    model("lab/words", { reasoning: false }),
    model("lab/gpt-5-mini", {}),
    model("lab/small", { contextWindow: 4_000, maxTokens: 1_000 }),
    model("lab/restless", { thinking: ["low", "medium", "high"] }),
  ];
  return lab;
}

/** Config of the models above. */
export const labConfig = {
  models: {
    providers: {
      lab: {
        api: "openai-completions",
        baseUrl: "http://127.0.0.1:9/v1",
        models: [
          { id: "deep" },
          { id: "plain" },
          { id: "words" },
          { id: "restless" },
          { id: "small" },
          { id: "gpt-5-mini" },
        ],
      },
    },
  },
  agents: {
    defaults: {
      model: { primary: "lab/plain", fallbacks: ["lab/words"] },
      models: {
        "lab/deep": { alias: "deep" },
        "lab/plain": {},
        "lab/words": { alias: "words", params: { thinking: "low" } },
      },
    },
  },
} as const;
