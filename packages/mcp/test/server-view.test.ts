// What people see of a server: its state, what is pinned of this server and not of the one before it, and no
// secret.
import { expect, test } from "vitest";
import { afterListing } from "../src/pins.ts";
import { identityOf, type ServerSettings } from "../src/settings.ts";
import { viewOf } from "../src/server-view.ts";

const settings: ServerSettings = {
  enabled: true,
  command: "serve",
  args: ["--root", "/a"],
  env: { KEY: "secret-in-env" },
  headers: { authorization: "secret-in-header" },
  oauth: { clientSecret: "secret-of-client" },
  transport: "stdio",
  tools: {},
} as never;
const definition = (name: string) => ({ name, description: name, inputSchema: { type: "object" } }) as never;
const listing = (...names: string[]) => ({
  tools: names.map(definition),
  leftOut: [
    { name: "odd", reason: "no schema" },
    { name: "odder", reason: "too long" },
  ] as never,
});
const about = (trusted: boolean) => ({ server: "s", identity: identityOf(settings), trusted, atMs: 7 });

test("a server of which nothing is known is shown as its config says", () => {
  expect(viewOf("s", settings, null, undefined)).toEqual({
    state: "stopped",
    starts: 0,
    name: "s",
    enabled: true,
    target: "serve --root /a",
    transport: "stdio",
    tools: [],
    waiting: [],
    code: "",
    leftOut: [],
    listedAtMs: null,
  });
  const url = "https://name:pass@mcp.example:8443/path?token=secret#part";
  const remote = { ...settings, command: undefined, url, enabled: false, transport: "http" as const };
  const shown = viewOf("s", remote, null, { state: "running", starts: 3 } as never);
  expect(shown).toMatchObject({
    target: "https://mcp.example:8443/path",
    enabled: false,
    transport: "http",
    state: "running",
    starts: 3,
  });
  expect(JSON.stringify(shown)).not.toMatch(/secret|pass/);
});

test("what counts, what waits and what was left out are shown in their order, of this server alone", () => {
  const first = afterListing(null, listing("a", "b"), about(true));
  const then = afterListing(first, listing("c", "a", "d"), about(false));
  const view = viewOf("s", settings, then, undefined);
  expect([view.tools.map(({ name }) => name), view.waiting.map(({ name }) => name)]).toEqual([
    ["a"],
    ["c", "d"],
  ]);
  expect([view.code.length, view.leftOut.map(({ name }) => name), view.listedAtMs]).toEqual([
    8,
    ["odd", "odder"],
    7,
  ]);
  // The code names exactly what waits, in its order.
  const codeOf = (...names: string[]) =>
    viewOf("s", settings, afterListing(first, listing(...names), about(false)), undefined).code;
  expect(new Set([view.code, codeOf("c", "a"), codeOf("d", "a"), codeOf("a")]).size).toBe(4);
  expect([codeOf("a", "b"), codeOf("c", "b", "d")]).toEqual(["", view.code]);
  const rules = { ...settings, tools: { deny: ["a"] } } as never;
  expect(viewOf("s", rules, first, undefined).tools.map(({ name }) => name)).toEqual(["b"]);
  expect(viewOf("s", { ...settings, args: ["other"] }, then, undefined)).toMatchObject({
    tools: [],
    waiting: [],
    code: "",
    leftOut: [],
    listedAtMs: null,
  });
});

test("a tool that went and comes back as it was counts again; one that says something else waits beside it", () => {
  const first = afterListing(null, listing("a", "b"), about(true));
  const gone = afterListing(first, listing("b"), about(false));
  const shown = (pins: typeof gone) => {
    const { tools, waiting } = viewOf("s", settings, pins, undefined);
    return [
      tools.map(({ name }) => name),
      waiting.map(({ name, before }) => `${name} ${before?.description}`),
    ];
  };
  expect(shown(gone)).toEqual([["b"], []]);
  expect(shown(afterListing(gone, listing("a", "b"), about(false)))).toEqual([["a", "b"], []]);
  const other = {
    ...listing("b"),
    tools: [{ ...(definition("a") as object), description: "now this" } as never],
  };
  const changed = afterListing(gone, other, about(false));
  expect(shown(changed)).toEqual([[], ["a a"]]);
  expect(shown(afterListing(changed, listing("a"), about(false)))).toEqual([["a"], []]);
});
