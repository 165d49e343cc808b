// Wires the making of pictures: which model makes them, by the config or by the keys that are there, and what
// one costs. Nothing of it is loaded before the first picture.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "@parley/config";
import type { DrawEngine } from "@parley/media";
import { knownModel, priced } from "@parley/models";
import { Fault, isFault, noUsage, type Clock, type Log, type Usage } from "@parley/protocol";
import type { Drawing } from "@parley/tools";

type DrawingConfig = Pick<Config, "agents" | "models">;

interface Drawer {
  /** `<provider>/<model>`. */
  readonly id: string;
  readonly engine: DrawEngine;
}

/** Of providers with a key, where the config names no model. */
const known: readonly { readonly provider: string; readonly model: string }[] = [
  { provider: "openai", model: "gpt-image-1" },
  { provider: "google", model: "gemini-2.5-flash-image" },
];
const roots: { readonly [provider: string]: string } = {
  openai: "https://api.openai.com/v1",
  google: "https://generativelanguage.googleapis.com/v1beta",
};
/** Failures after which another model may be asked: nothing was made. */
const madeNothing = ["invalid", "denied", "rate_limited"] as const;

export function wireDrawing({
  configNow,
  mediaPath,
  clock,
  log,
}: {
  readonly configNow: () => DrawingConfig;
  readonly mediaPath: string;
  readonly clock: Clock;
  readonly log: Log;
}): Drawing {
  return drawingPort(configNow, async ({ images: given = [], ...words }, signal) => {
    const { draw } = await import("@parley/media");
    const images = await Promise.all(
      given.map(async ({ path, mediaType }) => ({ bytes: await readFile(join(mediaPath, path)), mediaType })),
    );
    const request = { ...words, images };
    let last: unknown = new Fault("unavailable", "no model makes pictures here");
    for (const { id, engine } of drawersOf(configNow())) {
      try {
        const { pictures, usage } = await draw(engine, request, clock, signal);
        // A service that answers without one may take its price all the same.
        const paid = pictures.length === 0 ? words.count : pictures.length;
        return { pictures, model: id, usage: costOf(configNow(), id, usage, paid) };
      } catch (error) {
        last = error;
        if (signal.aborted || !madeNothing.some((code) => isFault(error, code))) throw error;
        log.warn({ model: id, error }, "a picture was not made");
      }
    }
    throw last;
  });
}

/** What the tools are told where nothing is drawn: the same words (I12). */
export function idleDrawing(config: DrawingConfig): Drawing {
  return drawingPort(
    () => config,
    async () => {
      throw new Fault("unavailable", "pictures are made in the daemon only");
    },
  );
}

function drawingPort(configNow: () => DrawingConfig, draw: Drawing["draw"]): Drawing {
  return {
    model() {
      const [first] = drawersOf(configNow());
      return first === undefined
        ? {
            unavailable:
              "no provider that makes images has a key (models.providers.openai, google; agents.defaults.imageGenerationModel)",
          }
        : { model: first.id };
    },
    draw,
  };
}

function drawersOf({ agents, models }: DrawingConfig): readonly Drawer[] {
  const { primary, fallbacks = [] } = agents.defaults.imageGenerationModel ?? {};
  const named = [...(primary === undefined ? [] : [primary]), ...fallbacks];
  const ids =
    named.length > 0
      ? named
      : known
          .filter(({ provider }) => models.providers[provider]?.apiKey !== undefined)
          .slice(0, 1)
          .map(({ provider, model }) => `${provider}/${model}`);
  return ids.flatMap((id) => {
    const name = id.slice(0, id.indexOf("/"));
    const provider = Object.hasOwn(models.providers, name) ? models.providers[name] : undefined;
    const baseUrl = provider?.baseUrl ?? roots[name];
    if (provider === undefined || baseUrl === undefined) return [];
    if (provider.apiKey === undefined && provider.baseUrl === undefined) return [];
    const isGoogle =
      (provider.api ?? (name === "google" ? "google-generative-ai" : "")) === "google-generative-ai";
    const root =
      isGoogle && !/\/v\d+(?:alpha|beta)?\d*$/.test(baseUrl)
        ? `${baseUrl.replace(/\/+$/, "")}/v1beta`
        : baseUrl;
    const headers = Object.fromEntries(
      Object.entries(provider.headers ?? {}).map(([header, value]) => [header, value.reveal()]),
    );
    return [
      {
        id,
        engine: {
          kind: isGoogle ? "google" : "openai",
          baseUrl: root,
          apiKey: provider.apiKey?.reveal(),
          headers,
          model: id.slice(name.length + 1),
        } satisfies DrawEngine,
      },
    ];
  });
}

/** By the price of one picture where the config has it, else by tokens where both are known. */
function costOf(
  { models }: DrawingConfig,
  id: string,
  tokens: { readonly inputTokens: number; readonly outputTokens: number } | null,
  pictures: number,
): Usage {
  const name = id.slice(0, id.indexOf("/"));
  const model = id.slice(name.length + 1);
  const cost = models.providers[name]?.models.find((each) => each.id === model)?.cost;
  const usage: Usage = { ...noUsage, ...tokens };
  if (cost?.image !== undefined) return { ...usage, costUsd: cost.image * pictures };
  return tokens === null ? usage : priced(usage, cost ?? knownModel(model).cost);
}
