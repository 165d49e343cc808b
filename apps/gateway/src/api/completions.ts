// Serves the OpenAI chat API over the message path: POST /v1/chat/completions, GET /v1/models; an agent is a
// model. A request is a durable message and runs to its end even if the client leaves; the client gets its
// answer by repeating the Idempotency-Key.
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { Fault, type Clock, type Ids, type Log } from "@parley/protocol";
import { z } from "zod";
import type { ProgramAnswer, ApiRequests } from "./api-requests.ts";
import type { ApiUser, Refusals } from "@parley/access";
import { type Caller, pathOf, type CallerOf, type WhileKnown, readBody, TooLarge } from "@parley/control";
import { errorBody } from "./completion-error.ts";
import { agentNamed, completionRequest, saidIn, type CompletionRequest } from "./completion-request.ts";

export interface CompletionOptions {
  readonly requests: ApiRequests;
  /** Ids of the agents. */
  readonly agents: () => readonly string[];
  readonly callerOf: CallerOf;
  readonly refusals: Refusals;
  readonly whileKnown: WhileKnown;
  /** Aborted when the gateway closes. */
  readonly closing: AbortSignal;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

type In = Context<{ Bindings: HttpBindings }>;

/** Enough for a long conversation sent whole. */
const bodyBytes = 4_194_304;
const saidChars = 200_000;
/** Limits the open requests of all clients together. */
const mostWaiting = 256;
/** Proxies cut connections that are silent for a minute. */
const breatheEveryMs = 15_000;
const nameForm = /^[\x21-\x7e]{1,128}$/;

export function completions(options: CompletionOptions) {
  const { requests, agents, callerOf, refusals, clock, ids } = options;
  let waiting = 0;

  function headerOf(context: In, name: string): string | undefined {
    const value = context.req.header(name);
    if (value === undefined || nameForm.test(value)) return value;
    throw new Fault("invalid", `the header ${name} must be 1 to 128 printable characters without spaces`);
  }

  async function complete(context: In): Promise<Response> {
    const caller = await callerOf(context.env.incoming, "write");
    const path = pathOf(context.env.incoming);
    const body = await readBody(context.env.incoming, bodyBytes).catch((error: unknown) => {
      if (error instanceof TooLarge)
        refusals.note("body_too_large", caller.address, {
          address: caller.address,
          device: caller.device,
          path,
        });
      throw error;
    });
    const request = parsed(body);
    const named = headerOf(context, "x-parley-session") ?? request.user ?? undefined;
    const key = headerOf(context, "idempotency-key") ?? ids.uuid();
    const who: ApiUser = {
      agent: agentNamed(request.model, agents()),
      client: caller.peer,
      guest: !caller.scopes.includes("admin"),
      // Without a name each request is its own conversation, and a repeat of it is the same one.
      user: named === undefined || named === "" ? `once-${key}` : named,
    };
    const said = saidIn(request, named !== undefined && named !== "");
    if (said.length > saidChars)
      throw new Fault("invalid", `the message has more than ${saidChars} characters`);
    if (waiting >= mostWaiting)
      throw new Fault("rate_limited", "too many requests wait for answers", { retryAfterMs: 5_000 });
    const over = ender(context, caller);
    // Counted before the first await, so that parallel requests cannot pass the limit.
    waiting += 1;
    const ended = (): void => {
      waiting -= 1;
      over.leave();
    };
    try {
      const { id } = await requests.ask(who, key, said);
      const head = {
        id: `chatcmpl-${key}`,
        created: Math.floor(clock.now() / 1_000),
        model: request.model ?? who.agent,
      };
      if (request.stream === true) return streamed(request, who, id, head, over.signal, ended);
      const answer = given(await requests.answer(id, over.signal));
      ended();
      return context.json({
        ...head,
        object: "chat.completion",
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: answer.text },
            logprobs: null,
            finish_reason: "stop",
          },
        ],
        usage: usageOf(answer),
      });
    } catch (error) {
      ended();
      throw error;
    }
  }

  /** Aborts when the answer has no reader: the client left, its token was revoked, or the gateway closes. */
  function ender(context: In, caller: Caller): { readonly signal: AbortSignal; leave(): void } {
    const { signal, leave } = options.whileKnown(caller);
    return { signal: AbortSignal.any([context.req.raw.signal, signal, options.closing]), leave };
  }

  function streamed(
    request: CompletionRequest,
    who: ApiUser,
    id: string,
    head: Head,
    signal: AbortSignal,
    ended: () => void,
  ): Response {
    const encoder = new TextEncoder();
    const left = new AbortController();
    const over = AbortSignal.any([signal, left.signal]);
    let breathing: { cancel(): void } | null = null;
    const body = new ReadableStream<Uint8Array>({
      async start(to) {
        const write = (text: string): void => {
          if (!left.signal.aborted) to.enqueue(encoder.encode(text));
        };
        const chunk = (delta: object, finish: "stop" | null = null): void =>
          write(
            event({
              ...head,
              object: "chat.completion.chunk",
              choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
            }),
          );
        const breathe = (): void => {
          write(": still at work\n\n");
          breathing = clock.after(breatheEveryMs, breathe);
        };
        breathing = clock.after(breatheEveryMs, breathe);
        const text = growing((more) => chunk({ content: more }));
        const stop = requests.watch(who, text.grow);
        chunk({ role: "assistant", content: "" });
        try {
          const answer = given(await requests.answer(id, over));
          text.end(answer.text);
          chunk({}, "stop");
          if (request.stream_options?.include_usage === true)
            write(event({ ...head, object: "chat.completion.chunk", choices: [], usage: usageOf(answer) }));
          write("data: [DONE]\n\n");
        } catch (error) {
          write(event(errorBody(error, options).body));
        } finally {
          stop();
          breathing.cancel();
          ended();
          if (!left.signal.aborted) to.close();
        }
      },
      cancel: () => left.abort(),
    });
    return new Response(body, {
      headers: {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
      },
    });
  }

  const answered =
    (handle: (context: In) => Promise<Response>) =>
    async (context: In): Promise<Response> => {
      context.header("cache-control", "no-store");
      try {
        return await handle(context);
      } catch (error) {
        const { status, body, retryAfterMs } = errorBody(error, options);
        if (retryAfterMs !== undefined)
          context.header("retry-after", String(Math.ceil(retryAfterMs / 1_000)));
        if (status === 401) context.header("www-authenticate", "Bearer");
        return context.json(body, status);
      }
    };

  const shown = (id: string): object => ({ id, object: "model", created: 0, owned_by: "parley" });
  return {
    complete: answered(complete),
    models: answered(async (context) => {
      await callerOf(context.env.incoming, "read");
      return context.json({ object: "list", data: agents().map(shown) });
    }),
    model: answered(async (context) => {
      await callerOf(context.env.incoming, "read");
      return context.json(shown(agentNamed(nameIn(context.req.path), agents())));
    }),
  };
}

/** Clients of that API write the slash of `parley/main` as `%2F`. */
function nameIn(path: string): string {
  const name = path.slice("/v1/models/".length);
  try {
    return decodeURIComponent(name);
  } catch {
    // What is encoded wrongly names no agent.
    return name;
  }
}

interface Head {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

function parsed(body: Buffer): CompletionRequest {
  let json: unknown;
  try {
    json = JSON.parse(body.toString("utf8"));
  } catch {
    throw new Fault("invalid", "the body is not JSON");
  }
  const request = completionRequest.safeParse(json);
  if (!request.success) throw new Fault("invalid", z.prettifyError(request.error));
  return request.data;
}

/** Throws for a message that no agent answered, so that the client can tell it from an answer. */
function given(answer: ProgramAnswer): ProgramAnswer {
  if (answer.outcome === "dead") throw new Fault("unavailable", answer.text || "the agent could not answer");
  if (answer.outcome === "refused")
    throw new Fault("denied", answer.text || (answer.reason ?? "the message was refused"));
  if (answer.outcome === "stopped" || answer.outcome === "superseded")
    throw new Fault("aborted", answer.reason ?? "it was stopped");
  return answer;
}

/**
 * Streams text that cannot be taken back: it sends only what continues the text so far; text that starts over
 * becomes a paragraph of its own.
 */
function growing(say: (more: string) => void): { grow(text: string): void; end(text: string): void } {
  let said = "";
  const grow = (text: string): void => {
    if (text === "" || said.startsWith(text)) return;
    if (text.startsWith(said)) say(text.slice(said.length));
    else say(`\n\n${text}`);
    said = text;
  };
  return { grow, end: grow };
}

function usageOf({ usage }: ProgramAnswer): object {
  const read = usage.inputTokens + (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0);
  return {
    prompt_tokens: read,
    completion_tokens: usage.outputTokens,
    total_tokens: read + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cacheReadTokens ?? 0 },
  };
}

function event(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
