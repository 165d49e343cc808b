// What a form makes of a schema: the kind of each field, the search, and values that are put and taken away.
import { expect, test } from "vitest";
import { found, kindOf, valueAt, withValue, type Schema } from "../src/parts/schema.ts";

const schema: Schema = {
  type: "object",
  properties: {
    gateway: {
      type: "object",
      properties: {
        port: { type: "integer", description: "The port of the gateway.", default: 7275, minimum: 0 },
        bind: { enum: ["loopback", "lan"] },
        token: { anyOf: [{ type: "string" }, { type: "object", properties: { env: { type: "string" } } }] },
      },
    },
    servers: { type: "object", additionalProperties: { properties: { url: { type: "string" } } } },
    hosts: { type: "array", items: { type: "string" } },
    list: { type: "array", items: { type: "object", properties: { id: { type: "string" } } } },
    odd: { type: "array", items: { type: "array" } },
  },
};

test("each place is filled in by the plainest field that can hold it", () => {
  const at = (path: string, value?: unknown) =>
    kindOf(
      path.split(".").reduce<Schema>((now, step) => now.properties?.[step] ?? {}, schema),
      value,
    );
  expect(at("gateway")).toBe("block");
  expect(at("gateway.port")).toBe("number");
  expect(at("gateway.bind")).toBe("choice");
  expect(at("gateway.token")).toBe("text");
  expect(at("gateway.token", { env: "T" })).toBe("json");
  expect(at("servers")).toBe("named");
  expect(at("hosts")).toBe("lines");
  expect(at("list")).toBe("list");
  expect(at("odd")).toBe("json");
});

test("a search finds places by name and by help, also in entries that are there", () => {
  const value = { servers: { files: { url: "x" } }, list: [{ id: "a" }] };
  const paths = (words: string) => found(schema, value, words, 9).map(({ path }) => path.join("."));
  expect(paths("port gateway")).toEqual(["gateway.port"]);
  expect(paths("URL")).toEqual(["servers.files.url"]);
  expect(paths("list id")).toEqual(["list.0.id"]);
  expect(paths("nothing")).toEqual([]);
});

test("a value is put where it belongs, and a place that is taken away leaves no empty block behind", () => {
  const value = { a: { b: 1 }, list: [{ id: "x" }, { id: "y" }], c: 2 };
  expect(withValue(value, ["a", "b"], 3)).toEqual({ ...value, a: { b: 3 } });
  expect(Object.keys(withValue(value, ["a", "b"], 3) as object)).toEqual(["a", "list", "c"]);
  expect(withValue(value, ["a", "b"], undefined)).toEqual({ list: value.list, c: 2 });
  expect(withValue(value, ["list", 0], undefined)).toEqual({ ...value, list: [{ id: "y" }] });
  expect(withValue(value, ["list", 2], {})).toEqual({ ...value, list: [...value.list, {}] });
  expect(withValue({}, ["n", "new", "deep"], true)).toEqual({ n: { new: { deep: true } } });
  expect(valueAt(value, ["list", 1, "id"])).toBe("y");
  expect(valueAt({}, ["constructor"])).toBeUndefined();
  // A key of every object is no value of this one.
  expect(withValue({}, ["constructor"], "x")).toEqual({ constructor: "x" });
});
