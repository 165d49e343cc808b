// Meaning beside words: what a service is asked, what is kept, and what happens when it is away or changes.
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import type { EmbedderSettings, EmbedProvider } from "../src/vectors/embed.ts";
import { notes, plainSearch, type Notes } from "./notes.ts";

let n: Notes;
let server: Server;
afterEach(() => {
  n.close();
  server.closeAllConnections();
  server.close();
});

interface Seen {
  readonly path: string;
  readonly body: { readonly [key: string]: unknown };
  readonly headers: IncomingMessage["headers"];
}

/** Words of one meaning have the same axis. */
const axes = [/boat|ship|vessel/i, /dog|hound|puppy/i, /rain|weather/i];
const vectorFor = (text: string): readonly number[] => [
  ...axes.map((axis) => (axis.test(text) ? 1 : 0)),
  0.01,
];

interface Service {
  readonly seen: Seen[];
  readonly texts: () => readonly string[];
  settings(provider: EmbedProvider, model?: string): EmbedderSettings;
  fail: { status: number; headers?: Record<string, string> } | null;
}

async function service(): Promise<Service> {
  const seen: Seen[] = [];
  const state: Service = {
    seen,
    texts: () => seen.flatMap(({ body }) => textsIn(body)),
    settings: (provider, model = "m1") => ({
      provider,
      model,
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      apiKey: "key-1",
    }),
    fail: null,
  };
  server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const body = JSON.parse(text) as Seen["body"];
    seen.push({ path: request.url ?? "", body, headers: request.headers });
    if (state.fail !== null) {
      response.writeHead(state.fail.status, state.fail.headers).end("no");
      return;
    }
    const vectors = textsIn(body).map(vectorFor);
    const answer = request.url?.startsWith("/models/")
      ? { embeddings: vectors.map((values) => ({ values })) }
      : request.url === "/api/embed"
        ? { embeddings: vectors }
        : { data: vectors.map((embedding, index) => ({ index, embedding })).toReversed() };
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return state;
}

function textsIn(body: Seen["body"]): readonly string[] {
  if (Array.isArray(body["input"])) return body["input"] as readonly string[];
  const requests = (body["requests"] ?? []) as readonly { content: { parts: readonly { text: string }[] } }[];
  return requests.map(({ content }) => content.parts[0]?.text ?? "");
}

const files = {
  "memory/a.md": "The vessel left the harbour.",
  "memory/b.md": "A puppy was adopted.",
  "memory/c.md": "Bad weather all week.",
};
const hybrid = { ...plainSearch.hybrid, vectorWeight: 0.7, textWeight: 0.3 };

async function ready(of: EmbedderSettings): Promise<void> {
  Object.assign(n.target, { embedder: of });
  await n.engine.reindex(n.target);
}
const search = (query: string) => n.engine.search(n.target, { ...plainSearch, hybrid, query });

test.each([
  ["openai", "/embeddings", "authorization"],
  ["openai-compatible", "/embeddings", "authorization"],
  ["voyage", "/embeddings", "authorization"],
  ["gemini", "/models/m1:batchEmbedContents", "x-goog-api-key"],
  ["ollama", "/api/embed", null],
] as const)("%s finds by meaning what has none of the words", async (provider, path, header) => {
  const told = await service();
  n = notes(files);
  await ready(told.settings(provider));
  const { hits, mode } = await search("my boat");
  expect(mode).toBe("hybrid");
  expect(hits.map((hit) => hit.path)).toEqual(["memory/a.md"]);
  expect(new Set(told.seen.map((each) => each.path))).toEqual(new Set([path]));
  if (header !== null) expect(told.seen[0]?.headers[header]).toMatch(/key-1$/);
});

test("what was embedded once is not sent again, whatever moves around it", async () => {
  const told = await service();
  n = notes(files);
  await ready(told.settings("openai"));
  expect(told.texts()).toHaveLength(3);
  n.write("memory/moved.md", "\n\nThe vessel left the harbour.");
  await n.engine.reindex(n.target);
  expect(told.texts()).toHaveLength(3);
  n.write("memory/new.md", "A hound barked.");
  await n.engine.reindex(n.target);
  expect(told.texts().slice(3)).toEqual(["A hound barked."]);
});

test("a service that is away leaves the words, flagged, and comes back by itself", async () => {
  const told = await service();
  n = notes(files);
  told.fail = { status: 429, headers: { "retry-after": "0.02" } };
  await ready(told.settings("openai"));
  const away = await search("harbour");
  expect(away).toMatchObject({ mode: "keyword", hits: [{ path: "memory/a.md" }] });
  expect(away.notes.join()).toMatch(/meaning is not searched now.*429/);
  told.fail = null;
  await expect
    .poll(async () => (await search("my boat")).hits.map(({ path }) => path), { timeout: 10_000 })
    .toEqual(["memory/a.md"]);
});

test("a refused key is told without the key, and a dead address too", async () => {
  const told = await service();
  n = notes(files);
  told.fail = { status: 401 };
  await ready(told.settings("openai"));
  const { notes: said } = await search("harbour");
  expect(said.join()).toContain("refuses the key (401)");
  expect(said.join()).not.toContain("key-1");
  Object.assign(n.target, { embedder: { ...told.settings("openai"), baseUrl: "http://127.0.0.1:1" } });
  expect((await search("harbour")).notes.join()).toContain("cannot be reached");
});

test("after a change of the model the old vectors serve until the new ones are there", async () => {
  const told = await service();
  n = notes(files);
  await ready(told.settings("openai", "old"));
  const asked: string[] = [];
  Object.assign(n.target, { embedder: told.settings("openai", "new") });
  const before = told.seen.length;
  expect((await search("my boat")).hits.map(({ path }) => path)).toEqual(["memory/a.md"]);
  asked.push(
    ...told.seen.slice(before).map(({ body }) => `${String(body["model"])}: ${textsIn(body).join()}`),
  );
  expect(asked).toContain("old: my boat");
  await n.engine.reindex(n.target);
  const after = told.seen.length;
  await search("some hound");
  expect(told.seen.slice(after).map(({ body }) => body["model"])).toEqual(["new"]);
  expect(await n.engine.status(n.target)).toMatchObject({ vectors: 3, vectorsLeft: 0 });
});

test("what is held to be compared follows the notes, without being read again", async () => {
  const s = await service();
  n = notes(files);
  await ready(s.settings("ollama"));
  const best = async (query: string): Promise<string | undefined> => {
    await search(query);
    while (await n.engine.isBusy()) await new Promise((resolve) => setImmediate(resolve));
    return (await search(query)).hits[0]?.path;
  };
  expect(await best("ship")).toBe("memory/a.md");
  n.write("memory/a.md", "Nothing of note.");
  n.write("memory/d.md", "The vessel came back.");
  expect(await best("ship")).toBe("memory/d.md");
  n.write("memory/d.md", "A hound came back.");
  expect(await best("ship")).toBeUndefined();
  n.write("memory/a.md", "The vessel left the harbour.");
  expect(await best("ship")).toBe("memory/a.md");
});

test("vectors of another scope are not compared", async () => {
  const told = await service();
  n = notes({ ...files, "memory/shared/d.md": "A ship for all." });
  await ready(told.settings("openai"));
  const { hits } = await n.engine.search(n.target, {
    ...plainSearch,
    hybrid,
    scopes: ["shared"],
    query: "my boat",
  });
  expect(hits.map(({ path }) => path)).toEqual(["memory/shared/d.md"]);
});

test("of a question that is a document the beginning is embedded, and each passage is weighed by both", async () => {
  const told = await service();
  n = notes({
    ...files,
    "memory/d.md": "A quokka in a harbour.",
    "memory/e.md": "This quokka saw some harbour.",
    "memory/f.md": "Nothing of note.",
  });
  await ready(told.settings("openai"));
  await search(`boat ${"x".repeat(4_000)}`);
  expect(told.texts().at(-1)).toHaveLength(4_000);
  const { hits } = await n.engine.search(n.target, {
    ...plainSearch,
    minScore: 0,
    maxResults: 2,
    hybrid: { ...hybrid, candidateMultiplier: 1, mmr: { enabled: false, lambda: 1 } },
    query: "quokka ship harbour",
  });
  expect(hits.map(({ path, score }) => [path, score])).toEqual([
    ["memory/a.md", 0.75],
    ["memory/d.md", 0.257],
  ]);
});

test("by meaning, too, all scopes are searched where all are asked for", async () => {
  const told = await service();
  n = notes({
    ...files,
    "memory/shared/d.md": "A ship for all.",
    "memory/people/telegram-7/e.md": "Their ship.",
  });
  await ready(told.settings("openai"));
  const found = async (scopes: "all" | readonly ["daily"]) =>
    (
      await n.engine.search(n.target, { ...plainSearch, hybrid, scopes, query: "my boat", maxResults: 9 })
    ).hits
      .map(({ path, scope }) => `${path} ${scope}`)
      .toSorted();
  expect(await found("all")).toEqual([
    "memory/a.md daily",
    "memory/people/telegram-7/e.md person:telegram-7",
    "memory/shared/d.md shared",
  ]);
  expect(await found(["daily"])).toEqual(["memory/a.md daily"]);
});
