// Every method of the control plane with odd parameters, drawn from its own schema: the answer is a result or
// a clear error, never a flaw inside; nobody's connection ends, and afterwards records can still be read and
// people are answered.
import fc from "fast-check";
import { methods, type MethodName } from "@parley/protocol";
import { expect } from "vitest";
import type { z } from "zod";
import { controlClient } from "./control-client.ts";
import { eventually } from "./daemon.ts";
import type { World } from "./world.ts";

/** They end the daemon, or write where a test has no business. */
const leftOut: readonly MethodName[] = [
  "restart",
  "update.run",
  "backup",
  "restore",
  "people.export",
  "skills.install",
  "config.set",
  "config.patch",
  "config.apply",
];
const names = (Object.keys(methods) as MethodName[]).filter((name) => !leftOut.includes(name));

/** Words that mean something somewhere: keys, modes, paths, patterns, and what breaks naive code. */
const oddTexts: readonly string[] = [
  ..." |main|read|text|message|telegram|default|followup|admin|1|-1|*|now|every 5m|fake/m1|0 0 * * *|2026-01-01".split(
    "|",
  ),
  ..."agent:main:telegram:dm:1|agent:main:web:dm:x|telegram:1|MEMORY.md|../../etc/passwd|/etc|🙂|__proto__|constructor".split(
    "|",
  ),
  ..."|\u0000|\ud800|50%_|' OR 1=1 --|{}|[".split("|"),
  "a".repeat(300),
];
const oddText = fc.constantFrom(...oddTexts);
const oddNumber = fc.constantFrom(0, 1, 2, 10, -1, 1.5, 1e9, 2 ** 53, 1e308);
const oddValue: fc.Arbitrary<unknown> = fc.oneof(oddText, oddNumber, fc.constantFrom(null, true, [], {}));

interface Def {
  readonly type: string;
  readonly shape?: { readonly [name: string]: z.ZodType };
  readonly element?: z.ZodType;
  readonly innerType?: z.ZodType;
  readonly valueType?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly entries?: { readonly [name: string]: string };
  readonly values?: readonly unknown[];
  readonly in?: z.ZodType;
}

/** Mostly of the schema's shape, now and then of none. */
function paramsOf(schema: z.ZodType): fc.Arbitrary<unknown> {
  return fc.oneof({ arbitrary: shaped(schema), weight: 30 }, { arbitrary: oddValue, weight: 1 });
}

function shaped(schema: z.ZodType): fc.Arbitrary<unknown> {
  const def = schema.def as Def;
  if (def.shape !== undefined) {
    const fields = Object.entries(def.shape).map(([name, field]) => [name, paramsOf(field)] as const);
    const required = Object.entries(def.shape).flatMap(([name, field]) =>
      ["optional", "default", "prefault"].includes((field.def as Def).type) ? [] : [name],
    );
    return fc.record(Object.fromEntries(fields), { requiredKeys: required });
  }
  if (def.element !== undefined) return fc.array(paramsOf(def.element), { maxLength: 2 });
  if (def.options !== undefined) return fc.oneof(...def.options.map(paramsOf));
  if (def.entries !== undefined) return fc.constantFrom(...Object.values(def.entries));
  if (def.values !== undefined) return fc.constantFrom(...def.values);
  if (def.valueType !== undefined) return fc.dictionary(oddText, paramsOf(def.valueType), { maxKeys: 2 });
  if (def.innerType !== undefined) return paramsOf(def.innerType);
  if (def.in !== undefined) return paramsOf(def.in);
  if (def.type === "string") return oddText;
  if (def.type === "number") return oddNumber;
  return def.type === "boolean" ? fc.boolean() : oddValue;
}

const call = fc
  .constantFrom(...names)
  .chain((name) => fc.tuple(fc.constant(name), paramsOf(methods[name].params)));

/** Calls so many methods of one daemon, one after the other; throws with the call that found a flaw. */
export async function holdOddParams(world: World, numRuns: number, seed: number): Promise<void> {
  const daemon = await world.start();
  world.telegram.as(1).says("before");
  await world.answered(1, 1);
  const client = await controlClient(daemon);
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(call, async ([name, params]) => {
      const code = await client.call(name, params as object).then(
        () => null,
        ({ code = "closed!" }: { readonly code?: string }) => code,
      );
      if (code !== null) refused += 1;
      expect(code).toEqual(code === null ? null : expect.stringMatching(/^(?!internal$)[a-z_]+$/));
    }),
    { numRuns, seed, endOnFailure: true },
  );
  // Of both kinds there are enough to say something.
  expect(refused).toBeGreaterThan(numRuns / 5);
  expect(refused).toBeLessThan(numRuns - numRuns / 20);

  for (const name of ["devices.list", "sessions.list", "cron.list", "approvals.list", "memory.proposals"])
    await client.call(name);
  client.close();
  world.telegram.as(1).says("after");
  await eventually(
    () => world.answers(1).some(({ text }) => text.includes("after")),
    30_000,
    "the answer after all calls",
  );
  expect(daemon.log()).not.toMatch(/TypeError|RangeError|ZodError|"level":60/);
}
