import { Fault, type Json } from "@parley/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { editConfig, parseConfigPath, type ConfigChange } from "../src/index.ts";
import { parseDocument } from "../src/file/document.ts";
import { formatPath } from "../src/problem.ts";

const file = `// My gateway.
{
  // Where it listens.
  gateway: {
    port: 7275, // not 80
    /* who */ auth: { token: { env: "TOKEN" } },
  },

  'channels': {
    telegram: {
      allowFrom: [
        "1", // me
        "2" // you
      ],
      streaming: "off"
    }
  } // channels
}
// The end.
`;

describe("what a change leaves alone", () => {
  test("a value is replaced in its place, with every comment around it", () => {
    expect(editConfig(file, [{ set: ["gateway", "port"], to: 80 }])).toBe(
      file.replace("port: 7275,", "port: 80,"),
    );
  });

  test("a key is put behind the last one of its block, in the file's indentation", () => {
    expect(editConfig(file, [{ set: ["gateway", "bind"], to: "lan" }])).toBe(
      file.replace('"TOKEN" } },\n', '"TOKEN" } },\n    bind: "lan",\n'),
    );
  });

  test("a missing comma is set where the last key ends, before its comment", () => {
    expect(editConfig(file, [{ set: ["channels", "telegram", "allowFrom", 2], to: "3" }])).toBe(
      file.replace('"2" // you\n', '"2", // you\n        "3",\n'),
    );
    expect(editConfig(file, [{ set: ["logging", "level"], to: "debug" }])).toBe(
      file.replace("} // channels\n", '}, // channels\n  logging: {\n    level: "debug",\n  },\n'),
    );
  });

  test("a key goes with its line and the comment on it; the comment above stays", () => {
    expect(editConfig(file, [{ remove: ["gateway", "port"] }])).toBe(
      file.replace("    port: 7275, // not 80\n", ""),
    );
    expect(editConfig(file, [{ remove: ["channels", "telegram", "allowFrom", 1] }])).toBe(
      file.replace('        "2" // you\n', ""),
    );
  });

  test("in a block of one line the change stays on the line", () => {
    expect(editConfig("{ a: 1, b: [1, 2] }", [{ set: ["b", 2], to: 3 }])).toBe("{ a: 1, b: [1, 2, 3] }");
    expect(editConfig("{ a: 1, b: 2 }", [{ remove: ["b"] }])).toBe("{ a: 1 }");
    expect(editConfig("{ a: 1, b: 2 }", [{ remove: ["a"] }])).toBe("{ b: 2 }");
    expect(editConfig("{ a: {} }", [{ set: ["a", "b"], to: true }])).toBe(
      "{ a: {\n    b: true,\n  } }".replaceAll("\n  ", "\n"),
    );
  });

  test("a file with quoted keys gets quoted keys, one with CRLF gets CRLF", () => {
    expect(editConfig('{\r\n\t"a": 1\r\n}\r\n', [{ set: ["b", "c"], to: [1] }])).toBe(
      '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": [1],\r\n\t},\r\n}\r\n',
    );
  });

  test("an empty file becomes one with a block; a block of comments keeps them", () => {
    expect(editConfig("", [{ set: ["gateway", "port"], to: 1 }])).toBe(
      "{\n  gateway: {\n    port: 1,\n  },\n}\n",
    );
    expect(editConfig("{\n  // nothing yet\n}\n", [{ set: ["a"], to: 1 }])).toBe(
      "{\n  // nothing yet\n  a: 1,\n}\n",
    );
  });
});

test("a secret may take the place of a reference and the other way round", () => {
  expect(editConfig('{ botToken: "x" }', [{ set: ["botToken", "env"], to: "T" }])).toBe(
    '{ botToken: {\n  env: "T",\n} }',
  );
  expect(editConfig(file, [{ set: ["gateway", "auth", "token"], to: "t" }])).toContain(
    'auth: { token: "t" },',
  );
});

test("a place that cannot be is refused by name, a broken file by line", () => {
  expect(() => editConfig(file, [{ set: ["channels", "telegram", "allowFrom", 7], to: "x" }])).toThrow(
    /channels\.telegram\.allowFrom\[7\].*2 entries/,
  );
  expect(() => editConfig("{ a: 1", [{ set: ["a"], to: 2 }], "parley.json5")).toThrow(/parley\.json5:1/);
  expect(() => editConfig("{ a: 1, a: 2 }", [{ set: ["a"], to: 2 }])).toThrow(Fault);
});

test.for([
  ["gateway.port"],
  ["channels.telegram.allowFrom[0]"],
  ['models.providers["my.host"].apiKey'],
  ['["a b"].c'],
  ["a[1][2]"],
] as const)("the path %s reads back as it is written", ([text]) => {
  expect(formatPath(parseConfigPath(text))).toBe(text);
});

test.for([[""], ["a..b"], ["a[x]"], ["a.["], [".a.b["]] as const)('"%s" is no path', ([text]) => {
  expect(() => parseConfigPath(text)).toThrow(Fault);
});

describe("any file, any change", () => {
  const key = fc.constantFrom("a", "b", "c d", "true", "é", "1");
  const leaf = fc.oneof(
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.constantFrom("", "x", 'q"', "//no", "/*", "\u2028", "a,b}"),
  );
  const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.dictionary(key, tie("tree"), { maxKeys: 3, noNullPrototype: true }),
    ),
  }));
  const block = fc.dictionary(key, tree, { maxKeys: 4, noNullPrototype: true });
  const change: fc.Arbitrary<ConfigChange> = fc.oneof(
    fc.record({ set: fc.array(key, { minLength: 1, maxLength: 3 }), to: tree }),
    fc.record({ remove: fc.array(fc.oneof(key, fc.constantFrom(0, 1)), { minLength: 1, maxLength: 3 }) }),
  );

  test("the file then says what it said, changed, wherever comments and blanks stand", () => {
    fc.assert(
      fc.property(
        block,
        fc.array(change, { minLength: 1, maxLength: 4 }),
        fc.infiniteStream(fc.nat(9)),
        (value, changes, random) => {
          const noise = (): string =>
            ["", " ", "\n", "\n  ", "/* k */", "\n// k\n", "", "\t", "\r\n", " "][random.next().value ?? 0] ??
            "";
          const text = noisy(value, noise);
          let expected: Json | null = value;
          let edited = text;
          for (const each of changes) {
            const next = apply(expected, each);
            if (next === null) {
              expect(() => editConfig(edited, [each])).toThrow(Fault);
              continue;
            }
            expected = next.value;
            edited = editConfig(edited, [each]);
            expect(parseDocument(edited)).toMatchObject({ problems: [], value: expected });
            expect(parseDocument(edited).value).toEqual(expected);
          }
        },
      ),
      { numRuns: 400 },
    );
  });
});

/** The same value, with blanks and comments between all its tokens. */
function noisy(value: Json, noise: () => string): string {
  const around = (text: string): string => `${noise()}${text}${noise()}`;
  if (Array.isArray(value))
    return around(`[${(value as readonly Json[]).map((each) => noisy(each, noise)).join(",")}${noise()}]`);
  if (typeof value !== "object" || value === null) return around(JSON.stringify(value));
  const members = Object.entries(value).map(
    ([name, each]) => `${around(JSON.stringify(name))}:${noisy(each, noise)}`,
  );
  return around(`{${members.join(",")}${members.length > 0 && noise() === " " ? "," : ""}${noise()}}`);
}

/** What a change means, on plain values; null where it cannot be. */
function apply(value: Json, change: ConfigChange): { readonly value: Json } | null {
  try {
    return "set" in change
      ? { value: withSet(value, change.set, change.to) }
      : { value: withRemoved(value, change.remove) };
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

type Block = { readonly [key: string]: Json };

function withSet(node: Json, [step, ...rest]: readonly (string | number)[], to: Json): Json {
  if (step === undefined) return to;
  if (Array.isArray(node)) {
    const list = node as readonly Json[];
    const index = Number(step);
    if (String(index) !== String(step) || index > list.length) throw new RangeError();
    return index < list.length
      ? list.with(index, withSet(list[index] ?? null, rest, to))
      : [...list, withSet({}, rest, to)];
  }
  const block: Block = typeof node === "object" && node !== null ? (node as Block) : {};
  return { ...block, [step]: withSet(block[String(step)] ?? {}, rest, to) };
}

function withRemoved(node: Json, [step, ...rest]: readonly (string | number)[]): Json {
  if (typeof node !== "object" || node === null || step === undefined) return node;
  const isLast = rest.length === 0;
  if (Array.isArray(node)) {
    const list = node as readonly Json[];
    const index = list.findIndex((_, each) => String(each) === String(step));
    if (index < 0) return node;
    return isLast ? list.toSpliced(index, 1) : list.with(index, withRemoved(list[index] ?? null, rest));
  }
  const { [String(step)]: found, ...others } = node as Block;
  if (found === undefined) return node;
  return isLast ? others : { ...(node as Block), [step]: withRemoved(found, rest) };
}
