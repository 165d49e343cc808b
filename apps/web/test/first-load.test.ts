// What a browser fetches before a person can write: counted in the built page, compressed.
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../dist/", import.meta.url));
/** DESIGN 10.6 and part 17 allow 90 kB. */
const mostBytes = 90_000;

/** The files that one file brings along at once; pages that come later are `import("./…")`. */
function brought(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const text = readFileSync(root + file, "utf8");
  const static_ = file.endsWith(".html")
    ? [...text.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map(([, path = ""]) => path)
    : [...text.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)].map(([, name = ""]) => `assets/${name}`);
  for (const each of static_) brought(each, seen);
  return seen;
}

test("the first load of the chat is small", () => {
  const chat = readdirSync(`${root}assets`).filter((name) => /^chat-.*\.js$/.test(name));
  expect(chat).toHaveLength(1);
  const files = chat.reduce((seen, name) => brought(`assets/${name}`, seen), brought("index.html"));
  expect(files.size).toBeGreaterThan(3);
  const bytes = [...files].reduce((sum, file) => sum + gzipSync(readFileSync(root + file)).length, 0);
  expect(bytes).toBeLessThan(mostBytes);
});

test("what the chat needs comes in few files, and runs before anything is painted", () => {
  const scripts = [...brought("index.html")].filter((file) => file.endsWith(".js"));
  expect(scripts.length).toBeLessThanOrEqual(5);
  const html = readFileSync(`${root}index.html`, "utf8");
  expect(html).toMatch(/<script async blocking="render" type="module" crossorigin src="\.\/assets\/index-/);
});

test("a device's page brings nothing of the console's", () => {
  const scripts = [...brought("device.html")].filter((file) => file.endsWith(".js"));
  expect(scripts.filter((file) => !/\/(?:base|device)-/.test(file))).toStrictEqual([]);
});

test("every other page comes when somebody goes there", () => {
  const first = brought("index.html");
  for (const page of ["overview", "approvals", "story"]) {
    const file = readdirSync(`${root}assets`).find((name) => name.startsWith(`${page}-`));
    expect(file).toBeDefined();
    expect(first.has(`assets/${file ?? ""}`)).toBe(false);
  }
});
