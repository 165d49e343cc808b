// What the config's text field offers where somebody types, and where it marks a mistake.
import { CompletionContext } from "@codemirror/autocomplete";
import { EditorState, Text } from "@codemirror/state";
import { expect, test } from "vitest";
import type { Schema } from "../src/parts/schema.ts";
import { completionsAt, diagnosticsOf } from "../src/view/config-hints.ts";

const schema: Schema = {
  type: "object",
  properties: {
    gateway: {
      type: "object",
      description: "Where it listens.",
      properties: {
        bind: { enum: ["loopback", "lan"], default: "loopback" },
        port: { type: "integer", default: 18_700 },
        tls: { type: "boolean", default: false },
        "max-size": { type: "string" },
        mode: { anyOf: [{ const: "off" }, { type: "boolean" }, { const: null }], default: "off" },
        limit: { anyOf: [{ const: -1.5 }, { const: "1.0.0" }, { const: "on call" }] },
        name: { type: "string", default: "here" },
      },
    },
    agents: { type: "object", additionalProperties: { properties: { model: { type: "string" } } } },
    bindings: { type: "array", items: { properties: { agent: {}, match: {} } } },
    tools: {
      anyOf: [
        { type: "string" },
        { properties: { allow: { description: "These alone." } } },
        { properties: { deny: {} } },
      ],
    },
  },
};

/** `|` is where somebody types; what is offered, as it would be put there. */
function offered(text: string, explicit = false, of: Schema | null = schema): readonly string[] | null {
  const state = EditorState.create({ doc: text.replace("|", "") });
  const at = text.indexOf("|");
  const found = completionsAt(new CompletionContext(state, at, explicit), of);
  if (found === null) return null;
  const { from, options } = found;
  const shown = options.map(({ label, apply, info }) =>
    [label, apply, ...(info === undefined ? [] : [info])].join(" = "),
  );
  return [`${state.sliceDoc(from, at)}>`, ...shown];
}

test("keys are offered with their help, quoted where they have to be, and without quotes within quotes", () => {
  const top = [
    "gateway = gateway:  = Where it listens.",
    "agents = agents: ",
    "bindings = bindings: ",
    "tools = tools: ",
  ];
  expect(offered("{ g|")).toEqual(["g>", ...top]);
  expect(offered("{ 'g|'")?.slice(0, 2)).toEqual(["g>", "gateway = gateway = Where it listens."]);
  const within = offered("{ gateway: { m|") ?? [];
  expect(within.map((each) => each.split(" = ")[1])).toEqual([
    undefined,
    "bind: ",
    "port: ",
    "tls: ",
    '"max-size": ',
    "mode: ",
    "limit: ",
    "name: ",
  ]);
  expect(offered("{ gateway: { 'm|")?.[4]).toBe("max-size = max-size");
  // Of a place that takes one of several blocks, the names of each; of a named entry and of a list's, its
  // own.
  expect(offered("{ tools: { a|")).toEqual(["a>", "allow = allow:  = These alone.", "deny = deny: "]);
  expect(offered("{ agents: { ann: { m|")).toEqual(["m>", "model = model: "]);
  expect(offered("{ bindings: [{}, { x|")).toEqual(["x>", "agent = agent: ", "match = match: "]);
});

test("values are offered each once, the default too, with quotes around words alone", () => {
  expect(offered("{ gateway: { bind: l|")).toEqual(["l>", 'loopback = "loopback"', 'lan = "lan"']);
  expect(offered("{ gateway: { bind: 'l|")).toEqual(["l>", "loopback = loopback", "lan = lan"]);
  expect(offered("{ gateway: { port: 1|")).toEqual(["1>", "18700 = 18700"]);
  expect(offered("{ gateway: { tls: t|")).toEqual(["t>", "true = true", "false = false"]);
  expect(offered("{ gateway: { mode: o|")).toEqual([
    "o>",
    'off = "off"',
    "null = null",
    "true = true",
    "false = false",
  ]);
  expect(offered("{ gateway: { limit: -|")).toEqual([
    "->",
    "-1.5 = -1.5",
    '1.0.0 = "1.0.0"',
    'on call = "on call"',
  ]);
  expect(offered("{ gateway: { name: h|")).toEqual(["h>", 'here = "here"']);
});

test("nothing is offered unasked, for what the schema does not have, or without one", () => {
  expect([offered("{ |"), offered("{ gateway: { bind: |"), offered("{ '|'")?.length]).toEqual([
    null,
    null,
    5,
  ]);
  expect([offered("{ |", true)?.length, offered("{ gateway: { bind: |", true)?.length]).toEqual([5, 3]);
  expect([offered("{ other: { x|"), offered("{ gateway: { 'max-size': x|")]).toEqual([null, null]);
  expect([offered("{ g|", true, null), offered("{ g } |", true)]).toEqual([null, null]);
});

test("a mistake is marked at its word, with its fix; one beyond the text at its nearest place", () => {
  const doc = Text.of(["{", '  "ga-te": 1, // x', "}"]);
  const marked = (line: number | undefined, column?: number, fix?: string, isWarning = false): unknown => {
    const found = diagnosticsOf(doc, [{ line, column, message: "wrong", fix, isWarning }]);
    return found.map(
      ({ from, to, severity, message }) => `${from} "${doc.sliceString(from, to)}" ${severity}: ${message}`,
    );
  };
  expect([
    marked(2, 3),
    marked(2, 12, "Say 2"),
    marked(2, 13, undefined, true),
    marked(2),
    marked(2, 99),
    marked(1, 0),
    marked(0, 1),
    marked(99, 1),
    marked(undefined, 3),
  ]).toEqual([
    ['4 ""ga-te"" error: wrong'],
    ['13 "1" error: wrong. Say 2'],
    ['14 "" warning: wrong'],
    ['2 "" error: wrong'],
    ['20 "" error: wrong'],
    ['0 "" error: wrong'],
    ['0 "" error: wrong'],
    ['21 "" error: wrong'],
    [],
  ]);
  const two = [1, 3].map((line) => ({ line, message: `at ${line}`, isWarning: line === 3 }));
  expect(diagnosticsOf(doc, two).map(({ from, severity }) => [from, severity])).toEqual([
    [0, "error"],
    [21, "warning"],
  ]);
});
