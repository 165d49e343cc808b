// Has pictures made by a service, from words or from other pictures: OpenAI's /images/generations and
// /images/edits, which many servers have, or Gemini. One call without a repeat, because each costs money.
import { Fault, type Clock, type FaultCode } from "@parley/protocol";
import { readablePicture, type PictureKind } from "./picture-kind.ts";

export interface DrawEngine {
  readonly kind: "openai" | "google";
  /** Before the endpoint. */
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  readonly headers: { readonly [name: string]: string };
  /** As the provider spells it. */
  readonly model: string;
}

export interface DrawRequest {
  readonly prompt: string;
  readonly count: number;
  /** `1024x1024`; absent: as the service has it. */
  readonly size?: string | undefined;
  /** From which the new ones are made; absent or none: from the words alone. */
  readonly images?: readonly { readonly bytes: Uint8Array; readonly mediaType: string }[];
}

export interface Drawn {
  /** As many as were asked for at most; none: the service took the money, and answered without one. */
  readonly pictures: readonly (PictureKind & { readonly bytes: Uint8Array })[];
  /** As the service counts; null where it does not. */
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number } | null;
}

/** A large picture of high quality takes about two minutes. */
const timeoutMs = 240_000;
/** Four pictures of 4,096 pixels a side, in base64. */
const answerBytes = 100_000_000;

/** Throws Fault; "unavailable" also where it is not known whether the service made something. */
export async function draw(
  engine: DrawEngine,
  request: DrawRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<Drawn> {
  if (engine.kind === "openai") {
    const body = openAiBody(engine, request);
    const { images = [] } = request;
    const { pictures, usage } =
      images.length === 0
        ? openAi(await asked(engine, "/images/generations", body, clock, signal))
        : openAi(await asked(engine, "/images/edits", formOf(body, images), clock, signal));
    return { pictures: pictures.slice(0, request.count), usage };
  }
  const path = `/models/${encodeURIComponent(engine.model)}:generateContent`;
  const drawn: Drawn[] = [];
  // Gemini makes one picture a call.
  for (let nth = 0; nth < request.count; nth += 1) {
    try {
      drawn.push(google(await asked(engine, path, googleBody(request), clock, signal)));
    } catch (error) {
      // What was paid for is handed over, however many there are.
      if (drawn.length === 0) throw error;
      break;
    }
  }
  const usages = drawn.flatMap(({ usage }) => usage ?? []);
  return {
    pictures: drawn.flatMap(({ pictures }) => pictures).slice(0, request.count),
    usage:
      usages.length === 0
        ? null
        : {
            inputTokens: usages.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
            outputTokens: usages.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
          },
  };
}

/** Edits are asked for by a form, with the pictures as files. */
function formOf(fields: object, images: NonNullable<DrawRequest["images"]>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value));
  for (const [nth, { bytes, mediaType }] of images.entries())
    form.append(
      images.length === 1 ? "image" : "image[]",
      new Blob([Buffer.from(bytes)], { type: mediaType }),
      `image-${nth + 1}.${mediaType.slice("image/".length)}`,
    );
  return form;
}

function openAiBody({ model }: DrawEngine, { prompt, count, size }: DrawRequest): object {
  // OpenAI's own models always answer in base64 and refuse the field; others have to be asked.
  const format = /^(?:gpt-image|chatgpt-image)/.test(model) ? {} : { response_format: "b64_json" };
  return { model, prompt, n: count, ...(size === undefined ? {} : { size }), ...format };
}

function googleBody({ prompt, size, images = [] }: DrawRequest): object {
  const ratio = size === undefined ? null : ratioOf(size);
  return {
    contents: [
      {
        role: "user",
        parts: [
          ...images.map(({ bytes, mediaType }) => ({
            inlineData: { mimeType: mediaType, data: Buffer.from(bytes).toString("base64") },
          })),
          { text: prompt },
        ],
      },
    ],
    generationConfig: {
      responseModalities: ["IMAGE"],
      ...(ratio === null ? {} : { imageConfig: { aspectRatio: ratio } }),
    },
  };
}

/** The nearest of the ratios that Gemini has. */
function ratioOf(size: string): string {
  const [width = 1, height = 1] = size.split("x").map(Number);
  const far = (ratio: string): number => {
    const [w = 1, h = 1] = ratio.split(":").map(Number);
    return Math.abs(Math.log(w / h / (width / height)));
  };
  return ["1:1", "3:2", "2:3", "4:3", "3:4", "16:9", "9:16"].toSorted((a, b) => far(a) - far(b))[0] ?? "1:1";
}

type Answer = { readonly [key: string]: unknown };

function openAi({ data, usage }: Answer): Drawn {
  const coded = list(data).flatMap(({ b64_json: text }) => (typeof text === "string" ? [text] : []));
  return { pictures: picturesOf(coded), usage: usageOf(usage, "input_tokens", "output_tokens") };
}

function google({ candidates, usageMetadata }: Answer): Drawn {
  const parts = list(candidates).flatMap(({ content }) => (isRecord(content) ? list(content["parts"]) : []));
  const coded = parts.flatMap(({ inlineData }) =>
    isRecord(inlineData) && typeof inlineData["data"] === "string" ? [inlineData["data"]] : [],
  );
  const usage = usageOf(usageMetadata, "promptTokenCount", "candidatesTokenCount");
  return { pictures: picturesOf(coded), usage };
}

function picturesOf(coded: readonly string[]): Drawn["pictures"] {
  return coded.flatMap((text) => {
    const bytes = Buffer.from(text, "base64");
    const kind = readablePicture(bytes);
    return kind === null ? [] : [{ ...kind, bytes }];
  });
}

function usageOf(usage: unknown, input: string, output: string): Drawn["usage"] {
  if (!isRecord(usage)) return null;
  // What lowers a sum, or breaks it, is no count.
  const count = (name: string): number => {
    const told = usage[name];
    return typeof told === "number" && Number.isSafeInteger(told) && told > 0 ? told : 0;
  };
  return { inputTokens: count(input), outputTokens: count(output) };
}

const isRecord = (value: unknown): value is Answer => typeof value === "object" && value !== null;
const list = (value: unknown): readonly Answer[] => (Array.isArray(value) ? value.filter(isRecord) : []);

async function asked(
  { kind, baseUrl, apiKey, headers }: DrawEngine,
  path: string,
  body: object | FormData,
  clock: Clock,
  signal: AbortSignal,
): Promise<Answer> {
  const root = baseUrl.replace(/\/+$/, "");
  const host = URL.parse(root)?.host ?? "the service";
  const key: { readonly [name: string]: string } =
    apiKey === undefined
      ? {}
      : kind === "google"
        ? { "x-goog-api-key": apiKey }
        : { authorization: `Bearer ${apiKey}` };
  const giveUp = new AbortController();
  const timer = clock.after(timeoutMs, () => giveUp.abort());
  try {
    // A form that is sent with a signal that has aborted rejects in Node where nobody can catch it.
    signal.throwIfAborted();
    const response = await fetch(`${root}${path}`, {
      method: "POST",
      ...(body instanceof FormData
        ? { headers: { ...headers, ...key }, body }
        : {
            headers: { "content-type": "application/json", ...headers, ...key },
            body: JSON.stringify(body),
          }),
      redirect: "error",
      signal: AbortSignal.any([signal, giveUp.signal]),
    });
    const text = await bounded(response, host);
    if (!response.ok)
      throw new Fault(codeOf(response.status), `${host} answered ${response.status}${reasonIn(text)}`);
    const answer: unknown = JSON.parse(text);
    if (!isRecord(answer)) throw new Error("the answer is no object");
    return answer;
  } catch (error) {
    if (error instanceof Fault) throw error;
    if (signal.aborted) throw new Fault("aborted", "drawing was stopped", { cause: error });
    throw new Fault("unavailable", `${host} gave no answer; it may have made a picture all the same`, {
      cause: error,
    });
  } finally {
    timer.cancel();
  }
}

/** Why a service refuses, in its own words: a prompt that it does not draw, a size that it does not have. */
function reasonIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { readonly error?: { readonly message?: unknown } };
    return typeof error?.message === "string" ? `: ${error.message.slice(0, 300)}` : "";
  } catch {
    return ""; // Not in the form that services have.
  }
}

async function bounded({ body }: Response, host: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > answerBytes)
      throw new Fault("unsupported", `${host} answered with too much; it may have been paid`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function codeOf(status: number): FaultCode {
  if (status === 429) return "rate_limited";
  if (status === 401 || status === 403) return "denied";
  return status >= 500 ? "unavailable" : "invalid";
}
