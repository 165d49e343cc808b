// The page's files: compressed as the browser takes them, known by their content, kept for good where their
// name says it, and read anew when they change.
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, gunzipSync } from "node:zlib";
import { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import { webFiles } from "../src/web-files.ts";

const long = "let a = 1;\n".repeat(200);

function site() {
  const root = mkdtempSync(join(tmpdir(), "parley-files-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, "assets"));
  const app = new Hono().get("*", webFiles(root));
  let times = 0;
  return {
    write(path: string, text: string | Buffer): void {
      writeFileSync(join(root, path), text);
      times += 1;
      utimesSync(join(root, path), times, times);
    },
    get: async (path: string, headers: { readonly [name: string]: string } = {}) =>
      app.request(path, { headers }),
  };
}

test.each([
  ["br, gzip", "br"],
  ["gzip", "gzip"],
  ["GZIP;q=0.5", "gzip"],
  ["br;q=0, gzip", "gzip"],
  ["br;q=0.0, gzip", "gzip"],
  ["br; q=0.000 , gzip", "gzip"],
  ["br;q=0.1", "br"],
  ["deflate", null],
  ["", null],
])("a browser that takes %j gets %s", async (accepted, encoding) => {
  const at = site();
  at.write("page.js", long);
  at.write("short.js", "let b;");
  const answer = await at.get("/page.js", { "accept-encoding": accepted });
  expect(answer.headers.get("content-encoding")).toBe(encoding);
  if (encoding === null) expect(await answer.text()).toBe(long);
  expect(
    (await at.get("/short.js", { "accept-encoding": accepted })).headers.get("content-encoding"),
  ).toBeNull();
});

test("a file that a browser has in this encoding costs a short answer; in another it does not", async () => {
  const at = site();
  at.write("page.js", long);
  const etag = async (accepted: string) =>
    (await at.get("/page.js", { "accept-encoding": accepted })).headers.get("etag") ?? "";
  const [br, gzip] = [await etag("br"), await etag("gzip")];
  expect(br).not.toBe(gzip);
  const status = async (seen: string) =>
    (await at.get("/page.js", { "accept-encoding": "br", "if-none-match": seen })).status;
  expect([await status(br), await status(`W/${br}`), await status(`"x", ${br}`), await status(gzip)]).toEqual(
    [304, 304, 304, 200],
  );
});

test("a file that changes is read anew, and one that was not there is found once it is", async () => {
  const at = site();
  expect((await at.get("/a.js")).status).toBe(404);
  for (const text of ["one", "two"]) {
    at.write("a.js", text);
    expect(await (await at.get("/a.js")).text()).toBe(text);
  }
});

test("what lies in assets is kept for good, all else is asked for again, and the missing page says how to build it", async () => {
  const at = site();
  expect((await at.get("/")).status).toBe(503);
  for (const path of ["index.html", "chat.js", "assets/chat-1.js", "assets/a.woff2"]) at.write(path, "x");
  const kept = async (path: string) => (await at.get(path)).headers.get("cache-control");
  const forever = "public, max-age=31536000, immutable";
  expect(await Promise.all(["/", "/chat.js", "/assets/chat-1.js", "/assets/a.woff2"].map(kept))).toEqual([
    "no-cache",
    "no-cache",
    forever,
    forever,
  ]);
  for (const path of ["/.env.js", "/assets/../chat.js/x", "/assets/a/b.js", "/a.txt"])
    expect((await at.get(path)).status).toBe(404);
});

test("each kind of file has its type, and those that are compressed already stay as they are", async () => {
  const at = site();
  const names = ["a.html", "a.js", "a.css", "a.svg", "a.png", "a.ico", "a.woff2", "a.webmanifest"];
  for (const name of names) at.write(name, long);
  const told = await Promise.all(
    names.map(async (name) => {
      const { headers } = await at.get(`/${name}`, { "accept-encoding": "gzip, br" });
      return [headers.get("content-type"), headers.get("content-encoding"), headers.get("vary")];
    }),
  );
  expect(told).toEqual([
    ["text/html; charset=utf-8", "br", "accept-encoding"],
    ["text/javascript; charset=utf-8", "br", "accept-encoding"],
    ["text/css; charset=utf-8", "br", "accept-encoding"],
    ["image/svg+xml", "br", "accept-encoding"],
    ["image/png", null, "accept-encoding"],
    ["image/x-icon", null, "accept-encoding"],
    ["font/woff2", null, "accept-encoding"],
    ["application/manifest+json", "br", "accept-encoding"],
  ]);
  for (const [size, encoding] of [
    [1_023, null],
    [1_024, "gzip"],
  ] as const) {
    at.write("b.js", "x".repeat(size));
    expect((await at.get("/b.js", { "accept-encoding": "gzip" })).headers.get("content-encoding")).toBe(
      encoding,
    );
  }
});

test("a file that a release brought compressed is whole in every encoding, however small; beside the file itself it is passed over", async () => {
  const at = site();
  at.write("small.css.br", brotliCompressSync("a{}"));
  at.write("page.js.br", brotliCompressSync("old"));
  const whole = async (path: string, accepted: string) => {
    const answer = await at.get(path, { "accept-encoding": accepted });
    const bytes = Buffer.from(await answer.arrayBuffer());
    const encoding = answer.headers.get("content-encoding");
    const plain =
      encoding === "br" ? brotliDecompressSync(bytes) : encoding === "gzip" ? gunzipSync(bytes) : bytes;
    return [encoding, plain.toString(), answer.headers.get("etag")?.split("-").at(-1)];
  };
  expect([
    await whole("/small.css", "br"),
    await whole("/small.css", "gzip"),
    await whole("/small.css", ""),
  ]).toEqual([
    ["br", "a{}", 'br"'],
    ["gzip", "a{}", 'gzip"'],
    [null, "a{}", 'identity"'],
  ]);
  at.write("page.js", "new");
  expect([await whole("/page.js", "br"), await whole("/page.js", "gzip")]).toEqual([
    [null, "new", 'identity"'],
    [null, "new", 'identity"'],
  ]);
  at.write("page.js", long);
  expect(await whole("/page.js", "gzip")).toEqual(["gzip", long, 'gzip"']);
});
