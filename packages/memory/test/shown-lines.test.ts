// What of a note is shown: the lines of a snippet, the lines that are read by number, and what an embedding
// service is sent and believed.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { embedder, type EmbedderSettings, type EmbedProvider } from "../src/vectors/embed.ts";
import { linesOf } from "../src/get-lines.ts";
import { snippetOf } from "../src/search/snippet.ts";

test("a snippet is the best line and what fits around it, first what follows, then what precedes", () => {
  const text = ["one aaa", "two bbb", "three tea", "four ccc", "five ddd", "six tea cup"].join("\n");
  const at = (words: readonly string[], maxChars: number) => {
    const { startLine, endLine, text: shown } = snippetOf({ first: 10, text }, words, maxChars);
    return [
      startLine,
      endLine,
      shown
        .split("\n")
        .map((line) => line.split(" ")[0])
        .join(),
    ];
  };
  const whole = text.length;
  expect([
    at(["tea"], whole),
    at(["tea"], whole - 1),
    at(["tea", "cup"], 11),
    at(["tea", "cup"], 19),
    at(["tea", "cup"], 20),
    at(["tea"], 9),
    at(["tea"], 17),
    at(["tea"], 18),
    at(["tea"], 27),
    at(["none"], 15),
  ]).toEqual([
    [10, 15, "one,two,three,four,five,six"],
    [11, 15, "two,three,four,five,six"],
    [15, 15, "six"],
    [15, 15, "six"],
    [14, 15, "five,six"],
    [12, 12, "three"],
    [11, 12, "two,three"],
    [12, 13, "three,four"],
    [12, 14, "three,four,five"],
    [10, 11, "one,two"],
  ]);
});

test("of one long line the part around the first word is shown, from 200 signs before it", () => {
  const line = `${"a".repeat(300)} tea ${"b".repeat(300)} cup`;
  const part = (words: readonly string[], text = line) => snippetOf({ first: 1, text }, words, 250).text;
  expect(part(["tea"])).toBe(`… ${line.slice(101, 351)} …`);
  expect(part(["cup", "tea"])).toBe(`… ${line.slice(101, 351)} …`);
  expect(part(["cup"])).toBe(`… ${line.slice(406)}`);
  expect(part(["zebra"])).toBe(`${line.slice(0, 250)} …`);
  expect(part(["tea"], `${"a".repeat(200)}tea${"b".repeat(100)}`)).toBe(
    `${"a".repeat(200)}tea${"b".repeat(47)} …`,
  );
  expect(part(["tea"], `${"a".repeat(201)}tea${"b".repeat(100)}`)).toBe(
    `… ${"a".repeat(200)}tea${"b".repeat(47)} …`,
  );
  expect(part(["tea"], `${"a".repeat(100)} TEA ${"b".repeat(200)}`).startsWith("aaa")).toBe(true);
  expect(part(["tea"], `🍵${"a".repeat(200)}tea${"b".repeat(100)}`).startsWith("… \ufffda")).toBe(false);
});

function workspace(files: { readonly [path: string]: string }): string {
  const root = mkdtempSync(join(tmpdir(), "notes-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, "memory/shared"), { recursive: true });
  for (const [path, text] of Object.entries(files)) writeFileSync(join(root, path), text);
  return root;
}

test("lines are read from the one asked for, as many as were asked and fit", () => {
  const root = workspace({
    "MEMORY.md": "\ufeffone\r\ntwo\n\nfour\n",
    "memory/e.md": "",
    "memory/n.md": "a\n\n",
  });
  const target = { workspace: root } as Parameters<typeof linesOf>[0];
  const read = (path: string, from: number, lines: number, maxChars = 100) => {
    const {
      path: at,
      startLine,
      endLine,
      totalLines,
      text,
    } = linesOf(target, { path, from, lines, maxChars, scopes: "all" });
    return [at, startLine, endLine, totalLines, text];
  };
  expect([
    read("MEMORY.md", 1, 9),
    read("MEMORY.md", 0, 0),
    read("MEMORY.md", -3, 2),
    read("MEMORY.md", 4, 1),
    read("MEMORY.md", 2, 2),
    read("MEMORY.md", 1, 9, 7),
    read("MEMORY.md", 1, 9, 8),
    read("MEMORY.md", 1, 9, 3),
    read("MEMORY.md", 1, 9, 2),
    read("memory/e.md", 1, 5),
    read("memory/n.md", 1, 5),
  ]).toEqual([
    ["MEMORY.md", 1, 4, 4, "one\ntwo\n\nfour"],
    ["MEMORY.md", 1, 1, 4, "one"],
    ["MEMORY.md", 1, 2, 4, "one\ntwo"],
    ["MEMORY.md", 4, 4, 4, "four"],
    ["MEMORY.md", 2, 3, 4, "two\n"],
    ["MEMORY.md", 1, 1, 4, "one"],
    ["MEMORY.md", 1, 2, 4, "one\ntwo"],
    ["MEMORY.md", 1, 1, 4, "one"],
    ["MEMORY.md", 1, 1, 4, "on …"],
    ["memory/e.md", 1, 1, 0, ""],
    ["memory/n.md", 1, 2, 2, "a\n"],
  ]);
  expect(() => read("MEMORY.md", 5, 1)).toThrow("MEMORY.md has 4 lines; there is no line 5");
});

test("a path is understood as models write it; what is no memory, of others, or not there is refused", () => {
  const root = workspace({
    "MEMORY.md": "one\n",
    "memory/a.md": "x\n",
    "memory/shared/s.md": "s\n",
    "SOUL.md": "no\n",
    "memory/bad.md": "\u0000",
  });
  const target = { workspace: root } as Parameters<typeof linesOf>[0];
  const read = (
    path: string,
    scopes: Parameters<typeof linesOf>[1]["scopes"] = ["daily", "curated"],
  ): string => {
    try {
      return linesOf(target, { path, from: 1, lines: 1, maxChars: 9, scopes }).path;
    } catch (error) {
      const { code, message } = error as { readonly code: string; readonly message: string };
      return `${code}: ${message}`;
    }
  };
  const noMemory = "denied: only MEMORY.md, USER.md and Markdown files below memory/ are memory";
  const missing = (path: string) => `missing: there is no ${path}, or it is not for this conversation`;
  const rows: readonly (readonly [string, string])[] = [
    ["MEMORY.md", "MEMORY.md"],
    [" ./MEMORY.md ", "MEMORY.md"],
    ["././memory/a.md#L1", "memory/a.md"],
    ["memory/a.md#1-2", "memory/a.md"],
    ["memory/a.md#L1-L2", "memory/a.md"],
    [`${root}/memory/a.md#L3`, "memory/a.md"],
    ["memory/a.md#x", noMemory],
    ["memory/../MEMORY.md", noMemory],
    ["SOUL.md", noMemory],
    ["memory/a.txt", noMemory],
    ["/etc/passwd", noMemory],
    ["", noMemory],
    ["agent:main:main", "denied: what was said in a session is read with sessions_history"],
    ["memory/none.md", missing("memory/none.md")],
    ["memory/shared/s.md", missing("memory/shared/s.md")],
    ["memory/bad.md", "invalid: memory/bad.md: it is not text"],
  ];
  expect(rows.map(([path]) => [path, read(path)])).toEqual(rows);
  expect(read("memory/shared/s.md", ["shared"])).toBe("memory/shared/s.md");
  expect(read("memory/shared/s.md", "all")).toBe("memory/shared/s.md");
  expect(read("memory/a.md", ["shared"])).toBe(missing("memory/a.md"));
});

interface Sent {
  readonly url: string;
  readonly headers: object;
  readonly body: unknown;
}
afterEach(() => vi.unstubAllGlobals());

/** A service that answers each request by the next of these. */
function service(...answers: readonly (Response | Error)[]): Sent[] {
  const sent: Sent[] = [];
  vi.stubGlobal(
    "fetch",
    async (url: string, { headers, body }: { readonly headers: object; readonly body: string }) => {
      sent.push({ url, headers, body: JSON.parse(body) });
      const answer = answers[sent.length - 1] ?? new Error("asked too often");
      if (answer instanceof Error) throw answer;
      return answer;
    },
  );
  return sent;
}
const settings = (provider: EmbedProvider, apiKey: string | null = "key"): EmbedderSettings => ({
  provider,
  model: "m/1",
  baseUrl: "https://embed.test/v1",
  apiKey,
});
const { signal } = new AbortController();

test("each service is asked in its own form, with an empty text as a point and a long one cut", async () => {
  const data = (index: number, ...embedding: number[]) => ({ index, embedding });
  const openAi = () => Response.json({ data: [data(1, 0, 2), data(0, 3, 4)] });
  const plain = { "content-type": "application/json" };
  const texts = [" ", `${"x".repeat(15_999)}🍵`];
  const input = [".", `${"x".repeat(15_999)}\ufffd`];
  const gemini = (taskType: string) => ({
    requests: input.map((text) => ({ model: "models/m/1", content: { parts: [{ text }] }, taskType })),
  });
  const pair = [
    [3, 4],
    [0, 2],
  ];
  const rows: readonly (readonly [EmbedProvider, "document" | "query", Response, Sent])[] = [
    [
      "openai",
      "query",
      openAi(),
      {
        url: "https://embed.test/v1/embeddings",
        headers: { ...plain, authorization: "Bearer key" },
        body: { model: "m/1", input, encoding_format: "float" },
      },
    ],
    [
      "openai-compatible",
      "document",
      Response.json({ data: [{ embedding: [3, 4] }, { embedding: [0, 2] }] }),
      {
        url: "https://embed.test/v1/embeddings",
        headers: { ...plain, authorization: "Bearer key" },
        body: { model: "m/1", input, encoding_format: "float" },
      },
    ],
    [
      "voyage",
      "query",
      openAi(),
      {
        url: "https://embed.test/v1/embeddings",
        headers: { ...plain, authorization: "Bearer key" },
        body: { model: "m/1", input, input_type: "query" },
      },
    ],
    [
      "voyage",
      "document",
      openAi(),
      {
        url: "https://embed.test/v1/embeddings",
        headers: { ...plain, authorization: "Bearer key" },
        body: { model: "m/1", input, input_type: "document" },
      },
    ],
    [
      "gemini",
      "query",
      Response.json({ embeddings: pair.map((values) => ({ values })) }),
      {
        url: "https://embed.test/v1/models/m%2F1:batchEmbedContents",
        headers: { ...plain, "x-goog-api-key": "key" },
        body: gemini("RETRIEVAL_QUERY"),
      },
    ],
    [
      "gemini",
      "document",
      Response.json({ embeddings: pair.map((values) => ({ values })) }),
      {
        url: "https://embed.test/v1/models/m%2F1:batchEmbedContents",
        headers: { ...plain, "x-goog-api-key": "key" },
        body: gemini("RETRIEVAL_DOCUMENT"),
      },
    ],
    [
      "ollama",
      "query",
      Response.json({ embeddings: pair }),
      {
        url: "https://embed.test/v1/api/embed",
        headers: plain,
        body: { model: "m/1", input, truncate: true },
      },
    ],
  ];
  for (const [provider, kind, answer, asked] of rows) {
    const sent = service(answer);
    const vectors = await embedder(settings(provider)).embed(texts, kind, signal);
    expect([provider, sent]).toEqual([provider, [asked]]);
    // Vectors are made one long, in the order of the texts.
    expect(vectors.map((vector) => [...vector].map((value) => Math.round(value * 10) / 10))).toEqual([
      [0.6, 0.8],
      [0, 1],
    ]);
  }
  for (const provider of ["openai", "gemini", "ollama"] as const) {
    const sent = service(Response.json({}));
    await embedder(settings(provider, null))
      .embed(["a"], "query", signal)
      .catch(() => {});
    expect(sent[0]?.headers).toEqual(plain);
  }
  expect(embedder(settings("voyage")).id).toBe("voyage/m/1@https://embed.test/v1");
});

test("what a service answers instead of vectors is told by its kind, and never with the key", async () => {
  const status = (code: number, headers: { readonly [name: string]: string } = {}) =>
    new Response("key", { status: code, headers });
  const vectors = (...embeddings: unknown[]) => Response.json({ embeddings });
  const who = "the embedding service at embed.test";
  const rows: readonly (readonly [Response | Error, code: string, message: string, retryAfterMs?: number])[] =
    [
      [status(429), "rate_limited", `${who} is asked too often (429)`],
      [status(429, { "retry-after": "7" }), "rate_limited", `${who} is asked too often (429)`, 7_000],
      [status(429, { "retry-after": "601" }), "rate_limited", `${who} is asked too often (429)`, 600_000],
      [status(429, { "retry-after": "soon" }), "rate_limited", `${who} is asked too often (429)`],
      [status(401), "denied", `${who} refuses the key (401)`],
      [status(403), "denied", `${who} refuses the key (403)`],
      [status(400), "invalid", `${who} refuses the request (400); is the model right?`],
      [status(499), "invalid", `${who} refuses the request (499); is the model right?`],
      [status(500), "unavailable", `${who} failed (500)`],
      [new Error("ECONNREFUSED"), "unavailable", `${who} cannot be reached`],
      [new Response("no json"), "unavailable", `${who} cannot be reached`],
      [Response.json({}), "unavailable", "the answer of the embedding service has no vectors"],
      [vectors([1], "AAAA"), "unavailable", "the answer of the embedding service has no vectors"],
      [vectors([1], null), "unavailable", "the answer of the embedding service has no vectors"],
      [vectors([1]), "unavailable", "ollama answered 1 vectors for 2 texts"],
      [vectors([1], []), "unavailable", "ollama answered a vector that is none"],
      [vectors([1], [Number.MAX_VALUE]), "unavailable", "ollama answered a vector that is none"],
      [
        new Response("{}", { headers: { "content-length": `${64 * 1024 * 1024 + 1}` } }),
        "unavailable",
        "the answer of the embedding service is too large",
      ],
    ];
  for (const [answer, code, message, retryAfterMs] of rows) {
    service(answer);
    const error = await embedder(settings("ollama"))
      .embed(["a", "b"], "document", signal)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code, message });
    expect((error as { readonly retryAfterMs?: number }).retryAfterMs).toBe(retryAfterMs);
  }
  service(Response.json({ data: [{}] }), new Error("aborted"));
  await expect(embedder(settings("gemini")).embed(["a"], "query", signal)).rejects.toMatchObject({
    code: "unavailable",
    message: "the answer of the embedding service has no vectors",
  });
  await expect(embedder(settings("openai")).embed(["a"], "query", AbortSignal.abort())).rejects.toMatchObject(
    {
      code: "aborted",
      message: "the embedding service did not answer in time",
    },
  );
  // A text of nothing may have no direction: it is like nothing, and no error.
  service(vectors([0, 0]));
  expect((await embedder(settings("ollama")).embed(["a"], "query", signal)).map((each) => [...each])).toEqual(
    [[0, 0]],
  );
});
