// Serves the model APIs of three vendors: OpenAI's chat completions and Responses, Anthropic's Messages. It
// speaks real HTTP on a loopback port, scripted step by step; without a script it echoes the person. It
// records every request whole.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Clock, systemClock } from "@parley/protocol";
import { z } from "zod";
import { answerId, play } from "./play.ts";
import { type ModelCall, modelCall, type ModelWire } from "./request.ts";
import { modelStep, type ModelStep, type ReadyStep } from "./script.ts";

export type ModelAnswer = string | ModelStep;

export interface FakeModels {
  /** `http://127.0.0.1:<port>`; the providers' base URLs are this with `/v1`. */
  readonly url: string;
  /** Each of the next requests takes one step, in order. */
  script(...steps: readonly ModelStep[]): void;
  /** Answers every request that no step is left for: by a fixed text, or by what was asked. */
  reply(answer: ModelAnswer | ((call: ModelCall) => ModelAnswer | Promise<ModelAnswer>)): void;
  requests(): readonly ModelCall[];
  /** Forgets script, reply and requests. */
  reset(): void;
  close(): Promise<void>;
}

export interface FakeModelsOptions {
  /** For scripted pauses. Default: the system's. */
  readonly clock?: Clock;
  /** Default: any free port. */
  readonly port?: number;
}

/** A step that calls one tool. */
export function toolCallStep(
  name: string,
  args: { readonly [name: string]: unknown } = {},
  id?: string,
): ModelStep {
  return { toolCalls: [{ name, args: { ...args }, ...(id === undefined ? {} : { id }) }] };
}

const wires: { readonly [path: string]: ModelWire } = {
  "/v1/chat/completions": "chat",
  "/v1/responses": "responses",
  "/v1/messages": "anthropic",
};

export async function fakeModels(options: FakeModelsOptions = {}): Promise<FakeModels> {
  const clock = options.clock ?? systemClock();
  const closing = new AbortController();
  let steps: ModelStep[] = [];
  let calls: ModelCall[] = [];
  const echo = variedEcho();
  let respond: (call: ModelCall) => ModelAnswer | Promise<ModelAnswer> = echo.answer;
  let played = 0;
  const reset = (): void => {
    steps = [];
    calls = [];
    respond = echo.answer;
    echo.forget();
  };

  const control: { readonly [route: string]: (body: unknown) => unknown } = {
    "POST /_control/script": (body) => void steps.push(...z.array(modelStep).parse(body)),
    "GET /_control/requests": () => calls,
    "POST /_control/reset": reset,
    "GET /v1/models": () => ({
      object: "list",
      data: [{ id: "fake", object: "model", created: 1_700_000_000, owned_by: "testkit" }],
    }),
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", "http://fake").pathname;
    const body: unknown = JSON.parse((await bodyOf(request)) || "null");
    const route = control[`${request.method} ${path}`];
    if (route !== undefined) return answerJson(response, 200, route(body) ?? { ok: true });
    const wire = wires[path];
    if (request.method !== "POST" || wire === undefined || typeof body !== "object" || body === null) {
      return answerJson(response, 404, {
        error: { message: `no such endpoint: ${request.method} ${path}`, type: "not_found_error" },
      });
    }
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    const call = modelCall(wire, headers, { ...body });
    calls.push(call);
    const hungUp = new AbortController();
    response.on("close", () => {
      if (!response.writableFinished) call.aborted = true;
      hungUp.abort();
    });
    const answer = steps.shift() ?? (await respond(call));
    const step = modelStep.parse(typeof answer === "string" ? { text: answer } : answer);
    await play(
      { ...step, usage: step.usage ?? estimate(call, step) },
      call,
      answerId((played += 1)),
      response,
      clock,
      AbortSignal.any([hungUp.signal, closing.signal]),
    );
    if (!call.aborted) echo.told(call);
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      // A script that does not parse is the test's mistake: the answer says so.
      if (response.headersSent) response.destroy();
      else answerJson(response, 400, { error: { message: String(error), type: "invalid_script" } });
    });
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    script: (...more) => void steps.push(...more),
    reply(answer) {
      respond = typeof answer === "function" ? answer : () => answer;
    },
    requests: () => calls,
    reset,
    close() {
      closing.abort();
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/**
 * Says what it was told, and numbers what it was asked before: an answer that came once is never given again,
 * so that a test sees which of two it got.
 */
function variedEcho(): {
  answer(call: ModelCall): string;
  told(call: ModelCall): void;
  forget(): void;
} {
  const times = new Map<string, number>();
  const plain = ({ lastToolResult, lastUserText }: ModelCall): string =>
    lastToolResult === null ? `echo: ${lastUserText}` : `tool said: ${lastToolResult}`;
  return {
    answer(call) {
      const before = times.get(plain(call)) ?? 0;
      return before === 0 ? plain(call) : `${plain(call)} (${before + 1})`;
    },
    told: (call) => void times.set(plain(call), (times.get(plain(call)) ?? 0) + 1),
    forget: () => times.clear(),
  };
}

/** Four characters a token: good enough for sums, and never zero. */
function estimate(call: ModelCall, step: ReadyStep): NonNullable<ReadyStep["usage"]> {
  const chars = (value: unknown): number => JSON.stringify(value ?? "").length;
  return {
    input: Math.ceil(chars(call.body) / 4),
    output: Math.ceil(chars([step.text, step.toolCalls]) / 4),
    cacheRead: 0,
    cacheWrite: 0,
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function answerJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
