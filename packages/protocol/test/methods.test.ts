// Who may call what, and what comes back: the table of the control plane stands a second time in methods.txt.
// A right that widens, or a field that an operator no longer sees, is a line that differs. A new method is
// taken up by `vitest run --project @parley/protocol methods -u`.
import { expect, test } from "vitest";
import { z } from "zod";
import { methods, pushSubscription } from "../src/index.ts";

type Schema = {
  readonly type?: string;
  readonly const?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly propertyNames?: Schema;
  readonly additionalProperties?: Schema | false;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
};

/** As `1..128`: of a text or list its length, of a number itself; empty where nothing is bound. */
function bounds(schema: Schema): string {
  const { exclusiveMinimum = -Infinity } = schema;
  const minimum = schema.minimum ?? schema.minLength ?? schema.minItems ?? exclusiveMinimum + 1;
  const maximum = schema.maximum ?? schema.maxLength ?? schema.maxItems ?? Infinity;
  const told = [minimum, maximum].map((bound) =>
    Math.abs(bound) < Number.MAX_SAFE_INTEGER ? String(bound) : "",
  );
  return told.join("") === "" ? "" : `<${told.join("..")}>`;
}

/**
 * Names of the fields, `?` after those that may be absent, then what they hold with its bounds and default;
 * what is below them in braces.
 */
function shape(schema: Schema): string {
  const rest = `${bounds(schema)}${schema.default === undefined ? "" : `=${JSON.stringify(schema.default)}`}`;
  if (schema.properties !== undefined) {
    const fields = Object.entries(schema.properties).map(
      ([name, each]) => `${name}${schema.required?.includes(name) === true ? "" : "?"}:${shape(each)}`,
    );
    const closed = schema.additionalProperties === false ? " and no other" : "";
    return `{${fields.join(" ")}${closed}}${rest}`;
  }
  if (schema.type === "object") {
    const { propertyNames = {}, additionalProperties } = schema;
    const values = typeof additionalProperties === "object" ? shape(additionalProperties) : "";
    return `{[${shape(propertyNames)}]:${values}}${rest}`;
  }
  if (schema.type === "array") return `[${shape(schema.items ?? {})}]${rest}`;
  if (schema.anyOf !== undefined) return `${schema.anyOf.map(shape).join("|")}${rest}`;
  if (schema.enum !== undefined) return `(${schema.enum.join("|")})${rest}`;
  if (schema.const !== undefined) return `(${JSON.stringify(schema.const)})`;
  const { type = "any", format = "", pattern = "" } = schema;
  return `${[type, format, pattern && `/${pattern}/`].filter(Boolean).join(" ")}${rest}`;
}

const shapeOf = (schema: z.ZodType): string =>
  shape(z.toJSONSchema(schema, { io: "input", unrepresentable: "any", reused: "inline" }) as Schema);

test("every method has its rights, what it needs, its parameters and its result", async () => {
  const lines = Object.entries(methods).map(
    ([name, { scope, sessions, needs, params, result }]) =>
      `${name}: ${scope}, ${sessions}, ${needs}\n  ${shapeOf(params)}\n  -> ${shapeOf(result)}\n`,
  );
  await expect(lines.join("")).toMatchFileSnapshot("methods.txt");
});

const key = { idempotencyKey: "k" };
const push = (more: object) => {
  const subscription = { endpoint: "https://push.test/x", p256dh: "a".repeat(87), auth: "b".repeat(22) };
  return pushSubscription.safeParse({ ...subscription, ...more }).success;
};
const login = (redirectUrl: string): [string, object] => ["mcp.login.start", { name: "x", redirectUrl }];
const pair = (name: string, grants: readonly string[] = ["look"]): [string, object] => [
  "devices.pair",
  { name, grants },
];

test.each<[boolean, readonly (readonly [string, object])[]]>([
  [
    true,
    [
      ["update.run", {}],
      ["update.run", { to: "1.2.3" }],
      ["update.run", { to: "v2026.11.27-rc.1+build" }],
      ["update.run", { to: `1${"x".repeat(63)}` }],
      login("http://127.0.0.1:8080/oauth/call-back_1"),
      login("http://127.0.0.1:1/"),
      ["chat.send", { ...key, text: "x" }],
      ["chat.send", { ...key, text: "", files: [{ name: "a", data: "" }] }],
      ["chat.fork", { ...key, thread: "a", id: "1", to: "b" }],
    ],
  ],
  [
    false,
    [
      ["update.run", { to: "" }],
      ["update.run", { to: "--resume" }],
      ["update.run", { to: ".1" }],
      ["update.run", { to: "1 2" }],
      ["update.run", { to: "1/2" }],
      ["update.run", { to: "1\n" }],
      ["update.run", { to: `1${"x".repeat(64)}` }],
      login("https://127.0.0.1:80/x"),
      login("http://127.0.0.1/x"),
      login("http://127.0.0.1:80"),
      login("http://127.0.0.1:800000/x"),
      login("http://127.0.0.1:80/x?y"),
      login("http://127.0.0.1:80/x\nhttp://evil"),
      login("http://127x0.0.1:80/x"),
      login(" http://127.0.0.1:80/x"),
      pair(""),
      pair("a b"),
      pair("ä"),
      pair("a/b"),
      pair("x".repeat(41)),
      pair("phone", []),
      ["chat.send", { ...key, text: "" }],
      ["chat.send", { ...key, text: "", files: [] }],
      ["chat.fork", { ...key, thread: "a", id: "1", to: "a" }],
      ["audit.list", { limit: 1.5 }],
      ["audit.list", { skip: -1 }],
      ["chat.history", { thread: "a", beforeSeq: 0 }],
      ["sessions.list", { limit: 1.5 }],
      ["nobody", {}],
    ],
  ],
])("what an operator may ask is taken: %s", (taken, asked) => {
  const wrong = asked.filter(([name, params]) => {
    const spec = methods[name as keyof typeof methods];
    return (spec !== undefined && spec.params.safeParse(params).success) !== taken;
  });
  expect(wrong).toEqual([]);
});

test("a browser's subscription is an address of the web and two keys of their length", () => {
  expect([push({}), push({ endpoint: "http://push.test" }), push({ p256dh: `${"a".repeat(87)}=` })]).toEqual([
    true,
    true,
    true,
  ]);
  expect([push({ auth: `${"b".repeat(22)}==` }), push({ auth: "-_".repeat(11) })]).toEqual([true, true]);
  const refused = [
    { endpoint: "ftp://push.test" },
    { endpoint: "file:///etc/passwd" },
    { endpoint: `https://push.test/${"x".repeat(2_048)}` },
    { p256dh: "a".repeat(86) },
    { p256dh: "a".repeat(88) },
    { p256dh: `${"a".repeat(86)}+` },
    { auth: "b".repeat(21) },
    { auth: `${"b".repeat(22)}===` },
    { auth: `${"b".repeat(21)}/` },
  ];
  expect(refused.filter(push)).toEqual([]);
});
