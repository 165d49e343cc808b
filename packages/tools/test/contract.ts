// What every tool keeps, whoever wrote it: a description that fits the model and never changes by itself,
// arguments that are checked before anything happens, an abort that is heard, an answer that fits a
// transcript.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "@parley/protocol";
import type { Tool, ToolScope } from "../src/index.ts";
import { scopeOf } from "./stage.ts";

interface ToolSubject {
  readonly tool: Tool;
  readonly workspace: string;
  close(): Promise<void>;
}

export interface ToolCase {
  /** A fresh tool each time, made from equal facts. */
  readonly make: () => Promise<ToolSubject>;
  /** Runs and succeeds in a fresh workspace. */
  readonly good: JsonObject;
  /** Does not parse. */
  readonly bad: JsonObject;
}

/** The least that a schema asks for. */
export function asked(schema: JsonObject): JsonObject {
  const properties = schema["properties"] as { readonly [name: string]: JsonObject };
  const required = (schema["required"] ?? []) as readonly string[];
  return Object.fromEntries(required.map((name) => [name, valueOf(properties[name] ?? {})]));
}

/** The same with the wrong type for the first property. */
export function mistyped(schema: JsonObject): JsonObject {
  const [first] = Object.entries(schema["properties"] as { readonly [name: string]: JsonObject });
  if (first === undefined) throw new Error("a tool without arguments needs a sample of its own");
  return { ...asked(schema), [first[0]]: first[1]["type"] === "string" ? 5 : "of another type" };
}

function valueOf(schema: JsonObject): Json {
  const choices = schema["enum"] as readonly Json[] | undefined;
  if (choices?.[0] !== undefined) return choices[0];
  switch (schema["type"]) {
    case "string":
      return "a".repeat(Number(schema["minLength"] ?? 1));
    case "array":
      return [valueOf(schema["items"] as JsonObject)];
    case "object":
      return asked(schema);
    case "boolean":
      return true;
    default:
      return Number(schema["minimum"] ?? 1);
  }
}

export function toolContract(name: string, { make, good, bad }: ToolCase): void {
  describe(name, () => {
    const using = async (use: (subject: ToolSubject) => Promise<void> | void): Promise<void> => {
      const subject = await make();
      await use(subject);
      await subject.close();
    };
    const run = ({ tool, workspace }: ToolSubject, signal?: AbortSignal): ReturnType<Tool["run"]> => {
      const parsed = tool.parse(good);
      if (!parsed.ok) throw new Error(parsed.reason);
      return tool.run(parsed.args, scopeOf(workspace, signal) satisfies ToolScope);
    };

    test("has a name that every provider takes, a summary of one line, and a schema of one object", () =>
      using(({ tool }) => {
        expect(tool.name).toMatch(/^[a-z][a-z0-9_]{0,63}$/);
        expect(tool.summary).toMatch(/^[^\n]{1,160}$/);
        expect(tool.description.length).toBeLessThan(1_200);
        expect(tool.parameters).toMatchObject({ type: "object", properties: expect.any(Object) });
        expect(JSON.parse(JSON.stringify(tool.parameters))).toEqual(tool.parameters);
      }));

    test("is the same bytes for the same facts", async () => {
      const shape = ({ name: own, summary, description, parameters }: Tool): string =>
        JSON.stringify([own, summary, description, parameters]);
      const shapes: string[] = [];
      for (let count = 0; count < 2; count += 1) await using(({ tool }) => void shapes.push(shape(tool)));
      expect(shapes[0]).toBe(shapes[1]);
    });

    test("names no place of this machine in its description", () =>
      using(({ tool, workspace }) => {
        expect(JSON.stringify([tool.summary, tool.description, tool.parameters])).not.toContain(workspace);
      }));

    test("refuses wrong arguments with a reason, whatever they are", () =>
      using(({ tool }) => {
        expect(tool.parse(bad)).toEqual({ ok: false, reason: expect.stringMatching(/\S/) });
        fc.assert(
          fc.property(
            fc.dictionary(
              fc.oneof(fc.constantFrom(...Object.keys({ ...good, ...bad })), fc.string()),
              fc.jsonValue(),
            ),
            (args) => {
              const parsed = tool.parse(args as JsonObject);
              if (!parsed.ok) expect(parsed.reason).not.toBe("");
            },
          ),
          { numRuns: 50 },
        );
      }));

    test("answers with content, and not with an error, when all is well", () =>
      using(async (subject) => {
        const { content, isError } = await run(subject);
        expect(isError ?? false).toBe(false);
        expect(content.length).toBeGreaterThan(0);
        for (const part of content)
          expect(part.type === "text" ? typeof part.text : typeof part.path).toBe("string");
        const bytes = content.reduce(
          (sum, part) => sum + (part.type === "text" ? Buffer.byteLength(part.text) : 0),
          0,
        );
        expect(bytes).toBeLessThanOrEqual(8_192);
      }));

    test("comes to an end when it is stopped before it starts", () =>
      using(async (subject) => {
        const stop = new AbortController();
        stop.abort();
        await run(subject, stop.signal).then(
          () => undefined,
          (error: unknown) => expect(error).toBeInstanceOf(Error),
        );
      }));
  });
}
