// What the tools of devices, browser, canvas, speech, memory and the web ask of their ports, what they say,
// and what an owner is asked first, over ports that are played.
import { mkdir, readFile, readdir, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@parley/protocol";
import { afterEach, expect, test } from "vitest";
import { agentsList } from "../src/tools/agents-list.ts";
import { browser } from "../src/tools/browser.ts";
import { canvas } from "../src/tools/canvas.ts";
import { memorySearch } from "../src/tools/memory-search.ts";
import { nodes } from "../src/tools/nodes.ts";
import { tts } from "../src/tools/tts.ts";
import { webFetch } from "../src/tools/web-fetch.ts";
import type { Tool, ToolContext, ToolResult, Unavailable, WebPage } from "../src/index.ts";
import { scopeOf, stage, type Stage } from "./stage.ts";

const stages: Stage[] = [];
afterEach(async () => {
  for (const each of stages.splice(0)) await each.close();
});
async function staged(context: Partial<ToolContext> = {}): Promise<Stage> {
  const own = await stage({ context });
  stages.push(own);
  return own;
}

function tool(of: Tool | Unavailable): Tool {
  if ("unavailable" in of) throw new Error(of.unavailable);
  return of;
}
const why = (of: Tool | Unavailable): string => ("unavailable" in of ? of.unavailable : "there");
function parsed(of: Tool, args: JsonObject): unknown {
  const read = of.parse(args);
  if (!read.ok) throw new Error(read.reason);
  return read.args;
}
const run = async (of: Tool | Unavailable, args: JsonObject, by = scopeOf("/w")): Promise<ToolResult> =>
  tool(of).run(parsed(tool(of), args), by);
const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "done",
    (error: { readonly code: string; readonly message: string }) => `${error.code}: ${error.message}`,
  );
/** The same tools in a place that lacks one of its ports. */
function without(context: ToolContext, port: keyof ToolContext): ToolContext {
  const { [port]: _gone, ...rest } = context;
  return rest as ToolContext;
}
const text = (words: string) => [{ type: "text", text: words }];
const outside = (
  of: Tool | Unavailable,
  args: JsonObject,
  heard: { sources?: string[]; trusted?: string[] } = {},
) =>
  tool(of).outside?.(parsed(tool(of), args), scopeOf("/w"), { trusted: [], read: [], sources: [], ...heard });

const known = [
  {
    id: "d1",
    name: "Laptop",
    grants: ["notify", "run"] as const,
    connected: true,
    lastSeenAtMs: 5,
    about: null,
  },
  {
    id: "d2",
    name: "Phone",
    grants: ["camera"] as const,
    connected: false,
    lastSeenAtMs: Date.UTC(2026, 0, 2),
    about: { host: "pixel", platform: "android", commands: ["camera", "notify"] },
  },
  {
    id: "d3",
    name: "Desk",
    grants: ["run"] as const,
    connected: false,
    lastSeenAtMs: null,
    about: { host: "desk", platform: "linux", commands: [], allow: ["git *", "ls"] },
  },
];
type Devices = NonNullable<ToolContext["devices"]>;
const devices = (
  list: readonly object[],
  answer: object = { text: "asked" },
  asked: unknown[] = [],
): Devices =>
  ({
    some: () => list.length > 0,
    list: async () => list,
    invoke: async (_scope: unknown, what: unknown) => {
      asked.push(what);
      return answer;
    },
  }) as unknown as Devices;

test("nodes: who has it, what is listed and described, and what a missing word says", async () => {
  const { context } = await staged({ devices: devices(known) });
  expect([
    why(nodes({ ...context, owner: false })),
    why(nodes(without(context, "devices"))),
    why(nodes({ ...context, devices: devices([]) })),
    why(nodes(context)),
  ]).toEqual([
    "only owners may use it (commands.ownerAllowFrom)",
    "no device can be reached from here",
    "no device is paired (parley devices pair)",
    "there",
  ]);
  const of = nodes(context);
  const phone = "Phone (d2): camera; last seen 2026-01-02T00:00:00.000Z";
  expect(await run(of, { action: "list" })).toEqual({
    content: text(`Laptop (d1): notify, run; connected\n${phone}\nDesk (d3): run; never seen`),
  });
  expect([
    await run(of, { action: "describe", node: "d1" }),
    await run(of, { action: "describe", node: "PHONE" }),
    await run(of, { action: "describe", node: "desk" }),
  ]).toEqual([
    { content: text("Laptop (d1): notify, run; connected\nIt has said nothing of itself.") },
    {
      content: text(`${phone}\nIt says: pixel, android; commands camera, notify`),
      untrusted: { source: "device Phone" },
    },
    {
      content: text("Desk (d3): run; never seen\nIt says: desk, linux; commands none\nlets run: git *; ls"),
      untrusted: { source: "device Desk" },
    },
  ]);
  expect([
    await refusal(run(of, { action: "describe" })),
    await refusal(run(of, { action: "invoke" })),
    await refusal(run(of, { action: "invoke", node: "d1" })),
    await refusal(run(of, { action: "describe", node: "tv" })),
  ]).toEqual([
    "invalid: describe needs node",
    "invalid: invoke needs node",
    "invalid: invoke needs command",
    'missing: there is no device "tv"; there are: Laptop, Phone, Desk',
  ]);
});

test("nodes: what a device is asked, what comes back, and what an owner is asked first", async () => {
  const asked: unknown[] = [];
  const picture = { path: "a.jpg", mediaType: "image/jpeg" };
  const { context } = await staged();
  const of = (answer: object, vision = true) =>
    nodes({ ...context, vision, devices: devices(known, answer, asked) });
  const call = { action: "invoke", node: "Laptop", command: "notify", text: "hi" };
  const waitsFor = { ticket: "x", untilMs: 5 };
  expect([
    await run(of({ text: "asked", cells: [], waitsFor }), call),
    await run(of({ text: "no", isError: true, source: "device Laptop" }), { ...call, timeoutSeconds: 5 }),
    await run(of({ text: "seen", picture }), call),
    await run(of({ text: "seen", picture }, false), call),
  ]).toEqual([
    { content: text("asked"), effects: { cells: [] }, waitsFor },
    { content: text("no"), isError: true, untrusted: { source: "device Laptop" } },
    { content: [...text("seen"), { type: "image", ...picture }] },
    { content: text("seen\n[a picture, which this model does not see]") },
  ]);
  const sent = { node: "Laptop", command: "notify", text: "hi" };
  expect(asked).toEqual([60, 5, 60, 60].map((timeoutSeconds) => ({ ...sent, timeoutSeconds })));
  expect([
    outside(of({}), call),
    outside(of({}), call, { sources: ["device laptop", "Device Laptop"] }),
    outside(of({}), call, { sources: ["device Laptop", "a.test"] }),
    outside(of({}), { action: "describe", node: "Laptop" }, { sources: ["a.test"] }),
  ]).toEqual([null, null, 'notify on device Laptop: {"text":"hi"}', null]);
  const action = (args: JsonObject) => tool(of({})).action?.(parsed(tool(of({})), args), scopeOf("/w"));
  const ran = { action: "invoke", node: "d1", command: "run", argv: ["git", "status"] };
  expect(JSON.stringify(await action(ran))).toContain("Laptop (d1)");
  expect(await action({ ...call })).toBeNull();
  await expect(action({ ...ran, node: "Phone" })).rejects.toMatchObject({
    code: "denied",
    message: 'Phone was paired without the grant "run"; it has camera',
  });
});

test("browser: each profile, each limit of files, and what is kept of a page", async () => {
  const asked: unknown[] = [];
  let answer: object = { text: "shown", url: "https://a.test:8443/x", files: [] };
  const port = {
    run: async (profile: string, call: object) => {
      asked.push([profile, call]);
      return answer;
    },
    urlOf: (_profile: string, tab?: string) =>
      ({ t1: "https://bank.test/", t2: "about:blank" })[tab ?? "t1"] ?? null,
  };
  const { context, workspace } = await staged({
    browser: { port: () => port } as unknown as NonNullable<ToolContext["browser"]>,
    resultBytes: 8_192,
  });
  expect([
    why(browser(without(context, "browser"))),
    why(browser({ ...context, browser: { port: () => ({ unavailable: "off" }) } })),
  ]).toEqual(["there is no browser here", "off"]);
  const scope = scopeOf(workspace);
  const stranger = { ...scope, by: { owner: false, senders: [] } };
  await mkdir(join(workspace, "up"));
  await writeFile(join(workspace, "up/a.txt"), "abc");
  const of = browser(context);
  expect(await run(of, { action: "upload", ref: "e1", files: ["up/a.txt"] }, scope)).toEqual({
    content: text("shown"),
    untrusted: { source: "a.test:8443" },
  });
  answer = { text: "none", url: null, files: [] };
  expect(await run(of, { action: "tabs" }, stranger)).toEqual({
    content: text("none"),
    untrusted: { source: "a browser" },
  });
  const textChars = 8_192 - 300 - 900;
  expect(asked).toEqual([
    [
      "main",
      { action: "upload", ref: "e1", files: [{ name: "a.txt", bytes: Buffer.from("abc") }], textChars },
    ],
    ["main.others", { action: "tabs", files: [], textChars }],
  ]);
  await run(browser({ ...context, resultBytes: 1_500 }), { action: "tabs" }, scope);
  expect(asked.at(-1)).toEqual(["main", { action: "tabs", files: [], textChars: 1_000 }]);
  await truncate(join(workspace, "up/a.txt"), 20_000_001);
  expect(await refusal(run(of, { action: "upload", files: ["up/a.txt"] }, scope))).toBe(
    "invalid: up/a.txt has 20000001 bytes; at most 20000000 are uploaded",
  );

  const picture = Buffer.from("jpeg!");
  answer = {
    text: "",
    url: "https://a.test/",
    files: [{ name: "r.pdf", bytes: Buffer.from("pdf") }],
    picture,
  };
  const kept =
    "[r.pdf is in downloads/c_1-r.pdf, 3 bytes]\n[screenshot.jpg is in downloads/c_1-screenshot.jpg, 5 bytes]";
  const byCall = { ...scope, callId: "c/1" };
  expect([
    await run(of, { action: "screenshot" }, byCall),
    await run(browser({ ...context, vision: false }), { action: "screenshot" }, byCall),
    await run(browser(without(context, "pictures")), { action: "screenshot" }, byCall),
    await run(
      browser({ ...context, files: { ...context.files, readOnly: true } }),
      { action: "screenshot" },
      byCall,
    ),
  ]).toEqual([
    {
      content: [...text(""), { type: "image", path: "5.png", mediaType: "image/png" }],
      untrusted: { source: "a.test", note: kept },
    },
    {
      content: text(""),
      untrusted: { source: "a.test", note: `${kept}\n[not shown: this model does not see pictures]` },
    },
    {
      content: text(""),
      untrusted: { source: "a.test", note: `${kept}\n[not shown: this model does not see pictures]` },
    },
    {
      content: [...text(""), { type: "image", path: "5.png", mediaType: "image/png" }],
      untrusted: {
        source: "a.test",
        note: "[r.pdf was not kept: the workspace is read-only]\n[screenshot.jpg was not kept: the workspace is read-only]",
      },
    },
  ]);
  expect((await readdir(join(workspace, "downloads"))).toSorted()).toEqual([
    "c_1-r.pdf",
    "c_1-screenshot.jpg",
  ]);
  expect(await readFile(join(workspace, "downloads/c_1-r.pdf"), "utf8")).toBe("pdf");

  const far = "https://evil.test/?q=secret";
  expect([
    outside(of, { action: "open", url: far }),
    outside(of, { action: "navigate", url: far }),
    outside(of, { action: "open", url: far }, { trusted: ["go to evil.test"] }),
    outside(of, { action: "open", url: "https://evil.test/" }),
    outside(of, { action: "type", ref: "e1", text: "pin" }),
    outside(of, { action: "type", ref: "e1", text: "pin" }, { trusted: ["log in at bank.test"] }),
    outside(of, { action: "upload", files: ["a", "b"] }),
    outside(of, { action: "evaluate", text: "1", tab: "t1" }),
    outside(of, { action: "evaluate", text: "1", tab: "t2" }, { trusted: ["about:blank"] }),
    outside(of, { action: "evaluate", text: "1", tab: "t9" }),
    outside(of, { action: "click", ref: "e1" }),
  ]).toEqual([
    far,
    far,
    null,
    null,
    "type at https://bank.test/\npin",
    null,
    "upload at https://bank.test/\na\nb",
    "evaluate at https://bank.test/\n1",
    "evaluate at about:blank\n1",
    null,
    null,
  ]);
});

test("canvas: what is looked at, with what its console said, and what is missing is said", async () => {
  const rendered: unknown[] = [];
  let console: readonly string[] = [];
  const renderer = {
    port: () => ({
      render: async (page: unknown) => {
        rendered.push(page);
        return { value: "4", picture: Buffer.from("jpg"), console };
      },
    }),
  } as unknown as NonNullable<ToolContext["renderer"]>;
  const { context } = await staged({ renderer });
  const shown = { html: "<p>one", scripts: [] };
  expect(await run(canvas(context), { action: "eval", script: "2+2" })).toMatchObject({ content: text("4") });
  const head = "Version 1 as it looks in a window of 1,280 by 800.";
  const image = { type: "image", path: "3.png", mediaType: "image/png" };
  expect(await run(canvas(context), { action: "snapshot" })).toEqual({ content: [...text(head), image] });
  console = ["log: a", "error: b"];
  expect(await run(canvas({ ...context, vision: false }), { action: "snapshot" })).toEqual({
    content: text(`${head}\nConsole:\nlog: a\nerror: b\n[not shown: this model does not see pictures]`),
  });
  expect(rendered).toEqual([{ html: "<p>one", scripts: ["2+2"] }, shown, shown]);
  expect([
    await refusal(run(canvas(context), { action: "eval" })),
    await refusal(run(canvas(context), { action: "present" })),
    await refusal(run(canvas(context), { action: "update", html: "a", path: "b" })),
    await refusal(run(canvas(without(context, "renderer")), { action: "snapshot" })),
    await refusal(run(canvas(without(context, "renderer")), { action: "present", html: "a" })),
  ]).toEqual([
    "invalid: eval needs script",
    "invalid: give the page as html, or as path of an HTML file: one of them",
    "invalid: give the page as html, or as path of an HTML file: one of them",
    "unsupported: it cannot be looked at here: there is no browser here",
    "done",
  ]);
  const off = { ...context.canvases, unavailable: () => "no web here" };
  expect(why(canvas({ ...context, canvases: off }))).toBe("no web here");
});

test("tts: one voice note, here or where it was asked to go", async () => {
  const acts: unknown[] = [];
  const file = { path: "a.ogg", mediaType: "audio/ogg", bytes: 3, name: "voice.ogg" };
  const spoken: string[] = [];
  const speech = (count: number) =>
    ({
      voice: () => ({ name: "v" }),
      speak: async (words: string) => {
        spoken.push(words);
        return Array(count).fill(file);
      },
    }) as unknown as NonNullable<ToolContext["speech"]>;
  const { context } = await staged();
  const messages = {
    ...context.messages,
    act: async (_scope: unknown, request: unknown) => {
      acts.push(request);
      return { text: "sent" };
    },
  } as unknown as ToolContext["messages"];
  const of = (count: number) => tts({ ...context, speech: speech(count), messages });
  expect(await run(of(1), { text: " hello ", to: "x" })).toEqual({ content: text("sent") });
  expect([spoken, acts]).toEqual([
    ["hello"],
    [{ action: "send", to: "x", files: [file], voice: true, tags: [] }],
  ]);
  for (const count of [0, 2])
    expect(await refusal(run(of(count), { text: "a" }))).toBe(
      "unsupported: it does not fit into one voice note: say less",
    );
  expect([
    why(tts(without(context, "speech"))),
    why(tts({ ...context, speech: { ...speech(1), voice: () => ({ unavailable: "no voice" }) } })),
    tool(of(1)).parse({ text: "x".repeat(4_000) }).ok,
    tool(of(1)).parse({ text: "x".repeat(4_001) }).ok,
    outside(of(1), { text: "a" }),
    outside(of(1), { text: "a", to: "agent:main:main" }),
    outside(of(1), { text: "a", to: "telegram:default:dm:42" }),
    outside(of(1), { text: "a", to: "b" }),
  ]).toEqual(["nothing is spoken here", "no voice", true, false, null, null, null, "say to b: a"]);
});

test("agents are listed by line, and a word that is none is refused", async () => {
  const { context } = await staged();
  expect(await run(agentsList(context), {})).toEqual({ content: text("main\nhelper") });
  expect(agentsList(context).parse({ agent: "x" }).ok).toBe(false);
});

const hit = {
  path: "MEMORY.md",
  startLine: 1,
  endLine: 1,
  heading: "",
  score: 0.5,
  source: "memory",
  scope: "curated",
  snippet: "tea",
};

test("memory: each hit names its place, its score and whose words it has; what is off is said", async () => {
  const { context } = await staged();
  const search = async (recalled: object, resultBytes?: number) =>
    run(
      memorySearch({
        ...context,
        ...(resultBytes === undefined ? {} : { resultBytes }),
        memory: {
          search: async () => ({ mode: "keyword", notes: [], citations: false, hits: [], ...recalled }),
        } as unknown as NonNullable<ToolContext["memory"]>,
      }),
      { query: "tea" },
    );
  const said = async (recalled: object, resultBytes?: number): Promise<string> =>
    (await search(recalled, resultBytes)).content
      .map((part) => (part.type === "text" ? part.text : ""))
      .join("");
  expect(await said({ notes: ["one", "two"] })).toBe("Nothing found in memory.\n[one]\n[two]");
  const whole = await said({
    mode: "hybrid",
    notes: ["a note"],
    citations: true,
    hits: [
      hit,
      {
        ...hit,
        path: "memory/a.md",
        startLine: 2,
        endLine: 4,
        heading: "Food",
        score: 0.125,
        untrusted: "a.test",
      },
      {
        ...hit,
        path: "agent:main:main",
        startLine: 7,
        endLine: 9,
        source: "sessions",
        turn: "t7",
        untrusted: "b.test",
      },
      { ...hit, path: "agent:main:main", startLine: 8, endLine: 8, source: "sessions" },
    ],
  });
  const [head, ...lines] = whole.split("\n");
  expect([head, lines.at(-1)]).toEqual(["4 passages (hybrid search):", "[a note]"]);
  expect(lines.filter((line) => /^(?:\d\. |Source: )/.test(line))).toEqual([
    "1. MEMORY.md#L1 (lines 1-1, score 0.50, source memory)",
    "Source: MEMORY.md#L1",
    '2. memory/a.md#L2-L4 (lines 2-4, score 0.13, source memory, untrusted: noted after reading a.test, under "Food")',
    "Source: memory/a.md#L2-L4",
    "3. session agent:main:main, turn t7 (entries 7-9, score 0.50, source sessions, untrusted: said after reading b.test)",
    "Source: session agent:main:main, turn t7",
    "4. session agent:main:main, turn unknown (entries 8-8, score 0.50, source sessions)",
    "Source: session agent:main:main, turn unknown",
  ]);
  const one = await said({ hits: [hit] });
  expect([one.split("\n")[0], one.includes("Source:")]).toEqual(["1 passage (keyword search):", false]);
  // What does not fit is left out whole; the first is cut.
  const long = { ...hit, snippet: "x".repeat(600) };
  const passage = `1. MEMORY.md#L1 (lines 1-1, score 0.50, source memory)\n${long.snippet}`;
  const roomForTwo = 300 + 400 + 2 * (passage.length + 50);
  const counts = [];
  for (const room of [roomForTwo - 1, roomForTwo])
    counts.push((await said({ hits: [long, long, long] }, room)).split("\n")[0]);
  expect(counts).toEqual(["1 passage (keyword search):", "2 passages (keyword search):"]);
  const cut = await said({ hits: [long] }, 1_000);
  expect(cut.match(/x+/)?.[0].length).toBeLessThan(600);
  expect([why(memorySearch(without(context, "memory")))]).toEqual([
    "memory is not searched here (agents.defaults.memorySearch.enabled)",
  ]);
  const failing = memorySearch({
    ...context,
    memory: {
      search: async () => {
        throw new Error("no index");
      },
    } as unknown as NonNullable<ToolContext["memory"]>,
  });
  expect(await run(failing, { query: "a" })).toEqual({
    content: text("disabled=true: memory retrieval is unavailable (no index)."),
    isError: true,
  });
  await expect(run(failing, { query: "a" }, scopeOf("/w", AbortSignal.abort()))).rejects.toThrow("no index");
});

test("a page's head, its status and what is said of its parts", async () => {
  const { context } = await staged();
  const page: WebPage = {
    url: "https://a.test/x",
    status: 200,
    contentType: "text/html",
    title: null,
    byline: null,
    text: "words",
    truncated: false,
    cached: false,
  };
  const shown = async (more: Partial<WebPage>, args: JsonObject = {}, maxChars = 20_000) => {
    const web = { pages: () => ({ maxChars, read: async () => ({ ...page, ...more }) }) };
    const of = webFetch({ ...context, web: web as unknown as NonNullable<ToolContext["web"]> });
    const { content, isError, untrusted } = await run(of, { url: "b.test", ...args });
    return [content[0]?.type === "text" ? content[0].text : "", isError ?? false, untrusted];
  };
  const url = "URL: https://a.test/x";
  const source = "a.test";
  const whole = "0123456789";
  expect([
    await shown({}),
    await shown({ status: 399 }),
    await shown({ status: 400, title: "T", byline: "B", contentType: "text/plain" }),
    await shown({ text: "" }),
    await shown({ truncated: true }),
    await shown({ text: whole }, { maxChars: 10 }),
    await shown({ text: whole }, { maxChars: 4 }),
    await shown({ text: whole, truncated: true }, { maxChars: 4, offset: 4 }),
    await shown({ text: whole }, { offset: 9 }),
    await shown({ text: whole }, { maxChars: 9 }, 3),
    await shown({ title: "t".repeat(301), byline: "b".repeat(201) }),
  ]).toEqual([
    [`${url}\n\nwords`, false, { source }],
    [`${url}\n\nwords`, false, { source }],
    [`${url}\nStatus: 400\nTitle: T\nBy: B\nType: text/plain\n\nwords`, true, { source }],
    [`${url}\n\n(The page has no text to read.)`, false, { source }],
    [`${url}\n\nwords`, false, { source, note: "[5 characters, and the page has more than was read]" }],
    [`${url}\n\n${whole}`, false, { source }],
    [`${url}\n\n0123`, false, { source, note: "[characters 0 to 4 of 10; go on with offset=4]" }],
    [
      `${url}\n\n4567`,
      false,
      { source, note: "[characters 4 to 8 of 10, and the page has more than was read; go on with offset=8]" },
    ],
    [`${url}\n\n9`, false, { source, note: "[characters 9 to 10 of 10]" }],
    [`${url}\n\n012`, false, { source, note: "[characters 0 to 3 of 10; go on with offset=3]" }],
    [`${url}\nTitle: ${"t".repeat(300)}\nBy: ${"b".repeat(200)}\n\nwords`, false, { source }],
  ]);
  await expect(shown({ text: whole }, { offset: 10 })).rejects.toMatchObject({
    code: "invalid",
    message: "the text has 10 characters; there is none at 10",
  });
});
