// Every provider's stream, recorded, cut and put through the whole loop: no cut may start a tool that was not
// wholly called, and no rest of an answer may stand as one.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { runLoop, type JournalStep, type LoopEnd } from "@parley/agent";
import { modelsFrom, type ModelApi } from "@parley/models";
import { formatSessionKey, silentLog, systemClock, type ConversationKey } from "@parley/protocol";
import { modelStep, streamBytes, type ModelWire } from "@parley/testkit";
import type { Tool } from "@parley/tools";
import { expect } from "vitest";

interface Recording {
  readonly api: ModelApi;
  readonly path: string;
  readonly contentType: string;
  /** Words and a call of `pay`. */
  readonly calling: Buffer;
  /** Words alone. */
  readonly saying: Buffer;
  /** What has come whole once this stands in the bytes. */
  readonly whole: RegExp;
}

const said = "I pay 👍";
const afterwards = "paid";

const sse = (api: ModelApi, wire: ModelWire, whole: RegExp): Recording => ({
  api,
  path: "/v1",
  contentType: "text/event-stream",
  calling: streamBytes(
    modelStep.parse({ text: said, toolCalls: [{ id: "c1", name: "pay", args: { cents: 100 } }] }),
    {
      wire,
      model: "fake",
    },
  ),
  saying: streamBytes(modelStep.parse({ text: afterwards }), { wire, model: "fake" }),
  whole,
});
const gemini = (...chunks: readonly object[]): Buffer =>
  Buffer.from(
    chunks.map((candidate) => `data: ${JSON.stringify({ candidates: [candidate] })}\r\n\r\n`).join(""),
  );
const geminiSays = (part: object, more: object = {}): object => ({
  content: { role: "model", parts: [part] },
  index: 0,
  ...more,
});
const lines = (...messages: readonly object[]): Buffer =>
  Buffer.from(
    [
      ...messages.map((message) => ({
        message: { role: "assistant", content: "", ...message },
        done: false,
      })),
      { message: {}, done: true, done_reason: "stop" },
    ]
      .map((each) => `${JSON.stringify(each)}\n`)
      .join(""),
  );

export const recordings: readonly Recording[] = [
  sse("openai-completions", "chat", /"finish_reason":"/),
  sse("openai-responses", "responses", /"type":"response\.completed/),
  sse("anthropic-messages", "anthropic", /"type":"message_stop"\}/),
  {
    api: "google-generative-ai",
    path: "/v1beta",
    contentType: "text/event-stream",
    calling: gemini(
      geminiSays({ text: said }),
      geminiSays({ functionCall: { id: "f1", name: "pay", args: { cents: 100 } } }),
      geminiSays({ text: "" }, { finishReason: "STOP" }),
    ),
    saying: gemini(geminiSays({ text: afterwards }, { finishReason: "STOP" })),
    whole: /"finishReason":"STOP"/,
  },
  {
    api: "ollama",
    path: "",
    contentType: "application/x-ndjson",
    calling: lines(
      { content: said },
      { tool_calls: [{ function: { name: "pay", arguments: { cents: 100 } } }] },
    ),
    saying: lines({ content: afterwards }),
    whole: /"done":true/,
  },
];

/** How many of the cuts were told as torn. */
export async function cutThroughLoop(
  recording: Recording,
  offsets: (bytes: Buffer) => readonly number[],
): Promise<number> {
  const { api, path, contentType, calling, saying, whole } = recording;
  let bodies: Buffer[] = [];
  const server = createServer((request, response) => {
    request
      .resume()
      .on("end", () =>
        response.writeHead(200, { "content-type": contentType }).end(bodies.shift() ?? saying),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const clock = systemClock();
  const models = modelsFrom({ providers: { there: { api, baseUrl, apiKey: "k" } }, clock, log: silentLog });
  const model = await models.get("there/fake");
  let starts = 0;
  const pay: Tool = {
    name: "pay",
    summary: "pay",
    description: "pays",
    parameters: { type: "object", properties: { cents: { type: "number" } } },
    effect: "sends",
    parse: (args) => ({ ok: true, args }),
    run: async (args) => {
      starts += 1;
      expect(args).toEqual({ cents: 100 });
      return { content: [{ type: "text", text: "ok" }] };
    },
  };

  const oneTurn = async (): Promise<LoopEnd> => {
    const steps: JournalStep[] = [];
    const scope = {
      session: formatSessionKey({ agent: "main", kind: "main" }),
      agent: "main",
      turn: "t",
      conversation: "telegram:default:dm:42" as ConversationKey,
      by: { owner: true, senders: ["telegram:42"] },
      authority: "owner",
      workspace: "/w",
      env: {},
    };
    for await (const event of runLoop(
      {
        system: { stable: "s", volatile: "" },
        history: [],
        incoming: [{ type: "user", content: [{ type: "text", text: "pay" }], rows: ["r"], atMs: 0 }],
        thinking: "off",
        cacheKey: "k",
      },
      {
        model,
        tools: [pay],
        scope,
        journal: { steps, checkpoint: async (more) => void steps.push(...more), absorb: async () => [] },
        somebodyWrote: async () => false,
        spill: async () => "spilled",
        signal: new AbortController().signal,
        clock,
        log: silentLog,
      },
    )) {
      if (event.type === "end") return event;
    }
    throw new Error("the loop did not end");
  };

  let torn = 0;
  try {
    for (const at of offsets(calling)) {
      bodies = [calling.subarray(0, at)];
      starts = 0;
      const end = await oneTurn();
      if (end.stop === "error") {
        torn += 1;
        expect([at, starts, end.finalText, end.error?.kind]).toEqual([at, 0, "", "torn"]);
        expect(JSON.stringify(end.entries)).not.toContain('"toolCall"');
      } else {
        expect([at, starts, end.finalText]).toEqual([at, 1, afterwards]);
        expect(calling.subarray(0, at).toString()).toMatch(whole);
      }
    }
    // The answer in words, cut: what came of it is no answer.
    for (const at of offsets(saying)) {
      bodies = [saying.subarray(0, at)];
      const end = await oneTurn();
      if (end.stop === "error") torn += 1;
      else
        expect([at, end.finalText, whole.test(saying.subarray(0, at).toString())]).toEqual([
          at,
          afterwards,
          true,
        ]);
    }
    return torn;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
