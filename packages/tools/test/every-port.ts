// Fakes of all ports that a tool may ask for, for suites that look at every tool.
import type { ToolContext } from "../src/index.ts";
import { echo } from "../src/rehearsal/echo.ts";

export const everyPort: Partial<ToolContext> = {
  settings: {
    read: async () => ({ value: {}, shown: {}, hash: "h" }),
    schema: async () => ({ type: "object" }),
    write: async () => ({ restart: false }),
    restart: async () => undefined,
    checkUpdate: async () => "",
    update: async () => undefined,
  },
  browser: {
    port: () => ({
      run: async () => ({ text: "Tab t1: https://example.org/", url: "https://example.org/", files: [] }),
      urlOf: () => null,
    }),
  },
  web: {
    files: () => ({ fetch: async (url) => ({ url, bytes: new Uint8Array(9) }) }),
    pages: () => ({
      maxChars: 20_000,
      read: async (url) => ({
        url,
        status: 200,
        contentType: "text/html",
        title: "T",
        byline: null,
        text: "words ".repeat(10_000),
        truncated: false,
        cached: false,
      }),
    }),
    search: () => ({
      provider: "brave",
      maxResults: 5,
      search: async ({ query }) => ({
        results: [{ title: query, url: "https://example.org/", snippet: "s".repeat(20_000) }],
        provider: "Brave Search",
        failed: [],
        cached: false,
      }),
    }),
  },
  devices: {
    some: () => true,
    list: async () => [],
    invoke: async (_scope, { command }) => ({ text: command, source: "device laptop" }),
  },
  deferred: [echo],
  memory: {
    search: async () => ({ hits: [], mode: "keyword", notes: [], citations: false }),
    get: async () => ({ path: "MEMORY.md", startLine: 1, endLine: 1, totalLines: 1, text: "a" }),
  },
  upkeep: {
    look: async () => ({
      groups: [[1, 2].map((line) => ({ path: "MEMORY.md", line, text: `- said ${line}` }))],
      more: 0,
      untrusted: [],
    }),
    propose: async () => ({ text: "Proposed.", effects: { cells: [] } }),
  },
};
