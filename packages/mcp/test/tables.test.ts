// What the small parts decide of a server, as whole answers on both sides of each limit: its listing, its
// results, its tools, what starts it, and which change of the config means what.
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault } from "@parley/protocol";
import type { Sandbox, ToolScope } from "@parley/tools";
import { expect, onTestFinished, test } from "vitest";
import { readListing, type Definition } from "../src/definition.ts";
import { errorWords, SaidByServer } from "../src/error-words.ts";
import { lineReader } from "../src/line-reader.ts";
import { noServers } from "../src/no-servers.ts";
import { programOf } from "../src/program.ts";
import { remoteTool } from "../src/remote-tool.ts";
import { resultOf, type KeepPicture } from "../src/result.ts";
import { connectionOf, hashOf, identityOf, type ServerSettings } from "../src/settings.ts";
import { toolName } from "../src/tool-name.ts";
import { allows } from "../src/tool-rules.ts";

const signal = new AbortController().signal;
const settings: ServerSettings = {
  enabled: true,
  command: "node",
  args: ["a", "b"],
  env: { A: "1" },
  headers: {},
  oauth: {},
  transport: "stdio",
  timeoutMs: 1,
  startTimeoutMs: 2,
  idleMs: 3,
  tools: {},
  sandbox: "auto",
};

test("which changes of the config make it another server, and which only a new start", () => {
  const changes: readonly (readonly [Partial<ServerSettings>, identity: boolean, connection: boolean])[] = [
    [{}, false, false],
    [{ timeoutMs: 9 }, false, false],
    [{ idleMs: 9 }, false, false],
    [{ tools: { allow: ["x"] } }, false, false],
    [{ enabled: false }, false, true],
    [{ env: { A: "2" } }, false, true],
    [{ cwd: "/x" }, false, true],
    [{ headers: { a: "b" } }, false, true],
    [{ oauth: { scope: "s" } }, false, true],
    [{ startTimeoutMs: 9 }, false, true],
    [{ sandbox: "off" }, false, true],
    [{ transport: "sse" }, false, true],
    [{ args: ["b", "a"] }, true, true],
    [{ args: ["a"] }, true, true],
    [{ command: "deno" }, true, true],
    [{ command: undefined, url: "https://a.test" }, true, true],
    [{ url: "https://a.test" }, false, true],
  ];
  for (const [change, identity, connection] of changes) {
    const changed = { ...settings, ...change };
    expect([
      change,
      identityOf(changed) !== identityOf(settings),
      connectionOf(changed) !== connectionOf(settings),
    ]).toEqual([change, identity, connection]);
  }
  const at = (url: string) => identityOf({ ...settings, command: undefined, url });
  expect(at("https://a.test")).not.toBe(at("https://b.test"));
  expect(hashOf({ a: 1, b: { d: 2, c: [2, 1] } })).toBe(hashOf({ b: { c: [2, 1], d: 2 }, a: 1 }));
  expect(hashOf([1, 2])).not.toBe(hashOf([2, 1]));
  // Stored beside every approval: another form of it would make each of them wait again.
  expect(hashOf({ b: 1, a: "x" })).toBe("cdab067e9f3beb32d1252cfd63e492592fecbf591b0d08cadb24bb17f3864246");
});

test("a program gets a few names of the gateway's environment, and a folder of its own", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mcp-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const kept = {
    PATH: "/bin",
    HOME: "/h",
    USER: "u",
    LOGNAME: "u",
    SHELL: "sh",
    LANG: "C",
    LANGUAGE: "de",
    TZ: "UTC",
    TMPDIR: "/t",
    LC_ALL: "C",
  };
  const host = { ...kept, LC: "no", NODE_OPTIONS: "no", TOKEN: "no", path: "no", SSH_AUTH_SOCK: "no" };
  const place = { sandbox: null, folder, host };
  expect(await programOf("one", { ...settings, env: { TZ: "own", KEY: "k" } }, place)).toEqual({
    argv: ["node", "a", "b"],
    env: { ...kept, TZ: "own", KEY: "k" },
    cwd: join(folder, "one"),
  });
  expect(statSync(join(folder, "one")).mode & 0o777).toBe(0o700);
  expect((await programOf("two", { ...settings, cwd: "/elsewhere" }, place))?.cwd).toBe("/elsewhere");
  expect(existsSync(join(folder, "two"))).toBe(false);
  expect(
    await programOf("three", { ...settings, command: undefined, url: "https://a.test" }, place),
  ).toBeNull();
  const wrapped: unknown[] = [];
  const sandbox = (scratch: boolean) =>
    ({
      scratch,
      workspace: "/w",
      wrap(command: unknown) {
        wrapped.push(command);
        return { argv: ["bwrap"], env: { IN: "1" } };
      },
    }) as unknown as Sandbox;
  for (const scratch of [false, true])
    expect(
      await programOf("four", { ...settings, cwd: "/own" }, { ...place, sandbox: sandbox(scratch) }),
    ).toEqual({
      argv: ["bwrap"],
      env: { IN: "1" },
      cwd: "/w",
    });
  expect(wrapped).toEqual(
    [true, false].map((all) => ({
      argv: ["node", "a", "b"],
      cwd: "",
      env: { ...kept, A: "1" },
      pty: false,
      input: true,
      guarded: { readOnly: [], masked: [], all },
    })),
  );
  expect(existsSync(join(folder, "four"))).toBe(false);
});

test("a server's own rules: deny wins, a star is any letters, letters are equal in both cases", () => {
  const rows: readonly (readonly [Parameters<typeof allows>[0], string, boolean])[] = [
    [{}, "read", true],
    [{ allow: [] }, "read", false],
    [{ allow: ["read"] }, "read", true],
    [{ allow: ["READ"] }, "rEad", true],
    [{ allow: ["read"] }, "read_file", false],
    [{ allow: ["read"] }, "thread", false],
    [{ allow: ["read*"] }, "read_file", true],
    [{ allow: ["*_file"] }, "read_file", true],
    [{ allow: ["r*_f*e"] }, "read_file", true],
    [{ allow: ["a.b"] }, "axb", false],
    [{ allow: ["a.b"] }, "a.b", true],
    [{ allow: ["a(b)+"] }, "a(b)+", true],
    [{ allow: ["*"] }, "with\nline", true],
    [{ deny: ["read"] }, "read", false],
    [{ deny: ["read"] }, "write", true],
    [{ allow: ["*"], deny: ["*_file"] }, "read_file", false],
    [{ allow: ["read"], deny: ["write"] }, "other", false],
  ];
  expect(rows.map(([rules, tool]) => [rules, tool, allows(rules, tool)])).toEqual(rows);
});

test("a tool's name is cut at 64 letters and then ends with six letters of a hash", () => {
  expect(toolName("s", "x".repeat(61))).toBe(`s__${"x".repeat(61)}`);
  expect(toolName("s", "x".repeat(62))).toMatch(/^s__x{54}_[0-9a-f]{6}$/);
  expect(toolName("s", "a.b")).toMatch(/^s__a_b_[0-9a-f]{6}$/);
});

const tool: Definition = { name: "look", description: "", schema: { type: "object" }, readOnly: false };

test("a tool of a server says whose it is, what it does and what may go to it", async () => {
  const source = 'the MCP server "s"';
  const made = (more: Partial<Definition>) => {
    const { name, summary, description, parameters, effect } = remoteTool(
      "s",
      { ...tool, ...more },
      async () => ({
        content: [],
      }),
    );
    return { name, summary, description, parameters, effect };
  };
  const from = `Tool "look" of ${source}.`;
  const plain = { name: "s__look", parameters: tool.schema };
  expect([
    made({}),
    made({ description: " \n" }),
    made({ description: "\n First line.\nSecond.\n", readOnly: true }),
    made({ description: "x".repeat(121) }).summary,
    made({ description: "x".repeat(120) }).summary,
  ]).toEqual([
    { ...plain, summary: from, description: from, effect: "sends" },
    { ...plain, summary: from, description: from, effect: "sends" },
    { ...plain, summary: "First line.", description: `First line.\nSecond.\n\n(${from})`, effect: "reads" },
    `${"x".repeat(119)}…`,
    "x".repeat(120),
  ]);
  const outside = (readOnly: boolean, sources: readonly string[]) =>
    remoteTool("s", { ...tool, readOnly }, async () => ({ content: [] })).outside?.(
      { a: 1 },
      {} as ToolScope,
      {
        sources,
      } as never,
    );
  expect([
    outside(false, []),
    outside(false, [source]),
    outside(false, [source, "a page"]),
    outside(false, ['the MCP server "t"']),
    outside(true, ["a page"]),
  ]).toEqual([null, null, `call look of ${source}\n{"a":1}`, `call look of ${source}\n{"a":1}`, null]);
});

test("a call's answer is a stranger's, its Fault a result in words, another error an error", async () => {
  const run = (call: () => Promise<never> | Promise<{ content: [] }>) =>
    remoteTool("s", tool, call).run({}, { signal } as ToolScope);
  expect(await run(async () => ({ content: [] }))).toEqual({
    content: [],
    untrusted: { source: 'the MCP server "s"' },
  });
  expect(await run(async () => Promise.reject(new Fault("denied", "not now")))).toEqual({
    content: [{ type: "text", text: "MCP server s: not now" }],
    isError: true,
  });
  const said = new Fault("unavailable", "the call failed: send it", { cause: new SaidByServer(null) });
  expect(await run(async () => Promise.reject(said))).toMatchObject({
    isError: true,
    untrusted: { source: 'the MCP server "s"' },
  });
  await expect(run(async () => Promise.reject(new TypeError("ours")))).rejects.toThrow("ours");
});

test("what a server answers becomes text and pictures, in its order, with a line for what cannot be shown", async () => {
  const kept: number[] = [];
  const keep: KeepPicture = async (bytes) => {
    kept.push(bytes.length);
    return bytes.length === 1
      ? { refused: "it is no picture" }
      : { path: `${kept.length}.png`, mediaType: "image/png" };
  };
  const picture = (bytes: number) => ({
    type: "image",
    data: Buffer.alloc(bytes).toString("base64"),
    mimeType: "image/webp",
  });
  const shown = async (content: readonly unknown[], own: KeepPicture | null = keep) =>
    (await resultOf({ content }, own, signal)).content.map((part) =>
      part.type === "text" ? part.text : part,
    );
  const image = (number: number) => ({ type: "image", path: `${number}.png`, mediaType: "image/png" });
  expect(
    await shown([
      { type: "text", text: "one" },
      picture(3),
      null,
      "text",
      { type: "text", text: 5 },
      { type: "image" },
      picture(1),
      { type: "resource", resource: { uri: "file:///a", text: "inside", mimeType: "text/plain" } },
      { type: "resource", resource: { uri: "file:///b", mimeType: "text/csv" } },
      { type: "resource", resource: { blob: "x" } },
      { type: "resource" },
      { type: "resource_link", uri: "https://a.test", name: "A" },
      { type: "resource_link" },
      { type: "audio", data: "x" },
      {},
      { type: "text", text: "last" },
    ]),
  ).toEqual([
    "one",
    image(1),
    "[text that cannot be shown]",
    "[image that cannot be shown]",
    "[a picture that is not shown: it is no picture]",
    "[resource file:///a]\ninside",
    "[resource file:///b] (text/csv, not shown)",
    "[resource ?] (?, not shown)",
    "[resource that cannot be shown]",
    "[resource A: https://a.test]",
    "[resource ?: ?]",
    "[audio that cannot be shown]",
    "[? that cannot be shown]",
    "last",
  ]);
  // Each word of a stranger has a bound of its own.
  const words = (await shown(
    [
      { type: "resource", resource: { uri: "u".repeat(600), mimeType: "m".repeat(90) } },
      { type: "resource_link", uri: "u".repeat(600), name: "n".repeat(200) },
      { type: "t".repeat(90) },
      { type: "image", data: "", mimeType: "m".repeat(90) },
    ],
    null,
  )) as readonly string[];
  expect(words.map((text) => text.match(/[a-z]{9,}…?|…/g)?.map((run) => `${run[0]}${run.length}`))).toEqual([
    ["u500", "m60"],
    ["n120", "u500"],
    ["t40"],
    ["m60"],
  ]);
  expect(await shown([picture(3)], null)).toEqual(["[a picture (image/webp) that cannot be shown]"]);
  const many = await shown(Array.from({ length: 9 }, () => picture(2)));
  expect([many.filter((part) => typeof part !== "string").length, many.at(-1)]).toEqual([
    8,
    "[a picture (image/webp) that cannot be shown]",
  ]);
  // Base64 has four signs for three bytes, filled up to whole fours.
  expect(await shown([picture(7_999_998), picture(8_000_001)])).toEqual([
    image(kept.length),
    "[a picture (image/webp) that cannot be shown]",
  ]);
});

test("texts together have four million signs; what is structured alone is shown as JSON; an error stays one", async () => {
  const of = (answer: unknown) => resultOf(answer, null, signal);
  const text = (chars: number) => ({ type: "text", text: "x".repeat(chars) });
  const lengths = async (...chars: number[]) =>
    (await of({ content: chars.map(text) })).content.map((part) =>
      part.type === "text" ? part.text.length : 0,
    );
  expect(await lengths(4_000_000, 1)).toEqual([4_000_000]);
  expect(await lengths(3_999_999, 1, 1)).toEqual([3_999_999, 1]);
  expect(await lengths(4_000_001)).toEqual([4_000_000 + "\n[cut]".length]);
  expect(await lengths(3_999_999, 2)).toEqual([3_999_999, 1 + "\n[cut]".length]);
  const json = [{ type: "text", text: '{"a":1}' }];
  const structuredContent = { a: 1 };
  expect([
    await of({ structuredContent }),
    await of({ content: [text(1)], structuredContent }),
    await of({ structuredContent: null }),
    await of({ content: [], structuredContent, isError: true }),
    await of({ isError: "true" }),
    await of("text"),
    await of(null),
  ]).toEqual([
    { content: json },
    { content: [{ type: "text", text: "x" }] },
    { content: [] },
    { content: json, isError: true },
    { content: [] },
    { content: [] },
    { content: [] },
  ]);
});

test("a listing takes what is just within each limit and says why it left the rest", () => {
  const schema = (depth: number): object => (depth === 0 ? {} : { a: schema(depth - 1) });
  const { tools, leftOut } = readListing([
    { name: "z", description: "d".repeat(4_000), annotations: { readOnlyHint: true } },
    { name: "a", description: "d".repeat(4_001), annotations: { readOnlyHint: "true" } },
    { name: "n".repeat(200), inputSchema: [] },
    { name: "n".repeat(201) },
    { name: "" },
    { name: "deep", inputSchema: schema(23) },
    { name: "deeper", inputSchema: schema(24) },
    { name: "wide", inputSchema: { a: "x".repeat(32_768 - 8) } },
    { name: "wider", inputSchema: { a: "x".repeat(32_768 - 7) } },
    {
      name: "cleaned",
      inputSchema: {
        $schema: "x",
        $id: "y",
        type: "string",
        properties: {
          a: { $ref: "#/b", $id: "kept" },
          b: { $ref: "https://a.test" },
          c: ["\u200bx", 1, null],
        },
      },
    },
    { name: "a", description: "again" },
  ]);
  expect(
    tools.map(({ name, description, readOnly }) => [name.slice(0, 9), description.length, readOnly]),
  ).toEqual([
    ["a", 4_001, false],
    ["cleaned", 0, false],
    ["deep", 0, false],
    ["nnnnnnnnn", 0, false],
    ["wide", 0, false],
    ["z", 4_000, true],
  ]);
  expect(tools[0]?.description.at(-1)).toBe("…");
  expect(tools[1]?.schema).toEqual({
    type: "object",
    properties: { a: { $ref: "#/b", $id: "kept" }, b: {}, c: ["x", 1, null] },
  });
  expect(tools[3]?.schema).toEqual({ type: "object", properties: {} });
  expect(leftOut).toEqual([
    { name: `${"n".repeat(79)}…`, reason: "its name is longer than 200 characters" },
    { name: "?", reason: "it has no name" },
    { name: "deeper", reason: "its schema is nested deeper than 24" },
    { name: "wider", reason: "its schema is larger than 32 KB" },
    { name: "a", reason: "another tool of the server has the same name" },
  ]);
});

test("a listing has at most 512 tools and about a megabyte of words, and as many reasons", () => {
  const many = (count: number, description = "") =>
    readListing(Array.from({ length: count }, (_, at) => ({ name: `t${at}`, description })));
  expect(many(512)).toMatchObject({ tools: { length: 512 }, leftOut: [] });
  expect(many(513).leftOut).toEqual([{ name: "t512", reason: "a server may have 512 tools" }]);
  expect(many(512 + 513).leftOut).toHaveLength(512);
  const large = many(300, "d".repeat(4_000));
  expect(large.tools.length).toBe(245);
  expect(large.leftOut[0]?.reason).toBe("the descriptions of a server's tools may have 1 MB");
});

test("lines of a server: exactly the limit is a message, one more is none, and junk is counted between messages", () => {
  const seen: unknown[] = [];
  const reader = lineReader({
    messageBytes: 60,
    junkBytes: 100,
    onMessage: (message) => seen.push(message["error"] ?? message["id"]),
    onJunk: () => seen.push("junk"),
  });
  const send = (...lines: readonly string[]): readonly unknown[] => {
    for (const line of lines) reader.read(Buffer.from(`${line}\n`));
    return seen.splice(0);
  };
  const message = (id: number, bytes: number): string => {
    const bare = `{"jsonrpc":"2.0","id":${id},"x":""}`;
    return bare.replace('""', `"${"y".repeat(bytes - bare.length)}"`);
  };
  const tooLarge = { code: -32_603, message: "the answer is larger than 0.00006 MB" };
  expect(send(message(1, 60))).toEqual([1]);
  expect(send(message(2, 61))).toEqual([tooLarge]);
  expect(send('{"jsonrpc":"1.0","id":3}', "[1]", "null", "{bad", `  ${message(4, 40)}\r`)).toEqual([4]);
  expect(send("j".repeat(50), "j".repeat(50))).toEqual([]);
  expect(send("j")).toEqual(["junk"]);
  expect(send("j")).toEqual([]);
  expect(send(message(5, 40), "j".repeat(60), "j".repeat(40))).toEqual([5]);
  expect(send("j")).toEqual(["junk"]);
  // An id inside of the answer is not the answer's own.
  expect(send(`{"jsonrpc":"2.0","result":{"id":7,"x":"${"y".repeat(60)}"}}`)).toEqual([]);
  expect(send(`{"id":8,"result":"${"y".repeat(60)}","jsonrpc":"2.0"}`)).toEqual([tooLarge]);
});

test("the id of a long answer is read at its beginning or its end, in whatever pieces it comes", () => {
  const answered = (line: string, piece: number): readonly unknown[] => {
    const seen: unknown[] = [];
    const reader = lineReader({
      messageBytes: 1_000,
      junkBytes: 100_000,
      onMessage: ({ id, error }) => seen.push([id, error === undefined]),
      onJunk: () => seen.push("junk"),
    });
    const bytes = Buffer.from(`${line}\n{"jsonrpc":"2.0","id":99}\n`);
    for (let at = 0; at < bytes.length; at += piece) reader.read(bytes.subarray(at, at + piece));
    return seen;
  };
  const long = "y".repeat(3_000);
  for (const piece of [10_000, 1_500, 700, 7]) {
    expect(answered(`{"jsonrpc":"2.0","id":5,"result":{"a":"${long}"}}`, piece)).toEqual([
      [5, false],
      [99, true],
    ]);
    expect(answered(`{"jsonrpc":"2.0","result":{"a":"${long}"},"id":6}`, piece)).toEqual([
      [6, false],
      [99, true],
    ]);
    expect(answered(`{"jsonrpc":"2.0","result":["${long}",{"id":7}]}`, piece)).toEqual([[99, true]]);
  }
});

test("words of a failure are one line of at most 300 signs", () => {
  expect(errorWords(new Error("a\n b"))).toBe("a b");
  expect(errorWords(new Error("x".repeat(300)))).toBe("x".repeat(300));
  expect(errorWords(new Error("x".repeat(301)))).toBe(`${"x".repeat(299)}…`);
  expect(errorWords("only words")).toBe("only words");
});

test("where nothing can be started every server is missing, and lists are empty", async () => {
  expect([await noServers.at({ servers: {}, approveFirst: false }, null), await noServers.list()]).toEqual([
    { tools: [], unavailable: [] },
    [],
  ]);
  for (const asked of [
    noServers.test("s"),
    noServers.approve("s"),
    noServers.forget("s"),
    noServers.login("s", ""),
    noServers.finishLogin("s", ""),
    noServers.logout("s"),
  ])
    await expect(asked).rejects.toMatchObject({ code: "missing", message: 'there is no MCP server "s"' });
});
