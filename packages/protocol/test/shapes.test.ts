// What may stand on the wire and in rows, limit for limit, and what a canvas' page may send and take.
// A wanted change: `vitest run --project @parley/protocol shapes -u`.
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { z } from "zod";
import * as protocol from "../src/index.ts";

test("every shape that others read and write is as listed", async () => {
  const shapes = Object.entries(protocol).flatMap(([name, value]) =>
    value instanceof z.ZodType
      ? [`${name}\n  ${JSON.stringify(z.toJSONSchema(value, { io: "input", unrepresentable: "any" }))}\n`]
      : [],
  );
  await expect(shapes.join("")).toMatchFileSnapshot("shapes.txt");
});

/** A page with the bridge: what it sent, and what reaches its own document. */
function page() {
  const html = protocol.withBridge("");
  const hears = new Map<string, (event: object) => void>();
  const [sent, ran]: [unknown[], string[]] = [[], []];
  const parent = { postMessage: (message: unknown, to: string) => sent.push([message, to]) };
  class Element {
    readonly dataset: object | null;
    readonly form: object | null;
    constructor(dataset: object | null, form: object | null = null) {
      this.dataset = dataset;
      this.form = form;
    }
    closest(selector: string): unknown {
      if (selector === "form") return this.form;
      return this.dataset === null ? null : this;
    }
  }
  const window: { parley?: { send(value: unknown): void } } = {};
  runInNewContext(html.replace(/^<script>/, "").replace(/<\/script>$/, ""), {
    parent,
    window,
    Element,
    FormData: class {
      *[Symbol.iterator]() {
        yield ["name", "Ada"];
        yield ["file", {}];
      }
    },
    addEventListener: (event: string, hear: (event: object) => void) => void hears.set(event, hear),
    document: {
      createElement: () => ({ textContent: "", remove() {} }),
      documentElement: { append: (script: { textContent: string }) => ran.push(script.textContent) },
    },
  });
  return { hears, sent, ran, parent, window, Element };
}

test("a canvas sends what is pressed, with its form's words, and runs only what its viewer says", () => {
  const { hears, sent, ran, parent, window, Element } = page();
  window.parley?.send(7);
  const press = (target: unknown) => hears.get("click")?.({ target });
  press(new Element({ event: "go" }));
  press(new Element({ event: "save" }, {}));
  press(new Element(null));
  press({});
  const message = (value: object) => [{ type: protocol.canvasSends, value }, "*"];
  expect(sent).toEqual([
    [{ type: protocol.canvasSends, value: 7 }, "*"],
    message({ event: "go" }),
    message({ event: "save", fields: { name: "Ada" } }),
  ]);
  const run = (source: unknown, data: unknown) => hears.get("message")?.({ source, data });
  run({}, { type: protocol.canvasRuns, script: "strangers" });
  run(parent, { type: "other", script: "others" });
  run(parent, null);
  run(parent, { type: protocol.canvasRuns, script: "ours" });
  expect(ran).toEqual(["ours"]);
  let prevented = 0;
  hears.get("submit")?.({ preventDefault: () => (prevented += 1) });
  expect(prevented).toBe(1);
});

test.for([
  ["<p>x", 0],
  ["<html><head lang='en'><title>", 22],
  ["<HEAD><script>own()</script>", 6],
  ["<header>x", 0],
  ["<!doctype html><body>", 15],
  ["  <!DOCTYPE html>\n<head><p>", 24],
  ["x<!doctype html>", 0],
] as const)("the bridge stands before the page's own scripts: %s", ([html, at]) => {
  const bridged = protocol.withBridge(html);
  expect(bridged.indexOf("<script>(()")).toBe(at);
  expect(bridged.slice(0, at) + bridged.slice(bridged.length - (html.length - at))).toBe(html);
});
