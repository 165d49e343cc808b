// Checks requests against a description that is not ours: a JSON Schema of every `...Params` type of
// @gramio/types. It refuses unknown fields, missing fields and wrong values, so that a driver cannot lean on
// a lenient fake.
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Ajv, ValidateFunction } from "ajv";

export type Params = { readonly [name: string]: unknown };

export interface ParamsCheck {
  /** True when the Bot API has this method. */
  knows(method: string): boolean;
  /** Lists the errors as text; empty when the call is well-formed. */
  problems(method: string, params: Params): readonly string[];
  /**
   * Form fields are text: parses those that the method wants as a number, a truth value, an object or a list.
   */
  fromForm(method: string, fields: Readonly<Record<string, string>>): Params;
}

type Schema = { readonly [key: string]: unknown };
type Definitions = { readonly [name: string]: Schema | undefined };

let once: Promise<ParamsCheck> | undefined;

/**
 * One per process: the first run ever takes about a second to read the types; then the schema lies in
 * `node_modules/.cache`.
 */
export function paramsCheck(): Promise<ParamsCheck> {
  once ??= makeCheck();
  return once;
}

/** Both imports are late: tests that only want a clock do not pay for them. */
async function makeCheck(): Promise<ParamsCheck> {
  const [{ Ajv }, definitions] = await Promise.all([import("ajv"), loadDefinitions()]);
  return checkOf(new Ajv({ strict: false }), definitions);
}

function checkOf(ajv: Ajv, definitions: Definitions): ParamsCheck {
  ajv.addSchema({ $id: "telegram", definitions });
  const compiled = new Map<string, ValidateFunction>();
  const validatorOf = (name: string): ValidateFunction => {
    let validate = compiled.get(name);
    if (validate === undefined) {
      validate = ajv.compile({ $ref: `telegram#/definitions/${name}` });
      compiled.set(name, validate);
    }
    return validate;
  };
  return {
    knows: (method) => definitions[paramsName(method)] !== undefined || withoutParams.has(method),
    problems(method, params) {
      const name = paramsName(method);
      if (definitions[name] === undefined)
        return Object.keys(params).map((key) => `${method} takes no ${key}`);
      const validate = validatorOf(name);
      if (validate(params)) return [];
      return (validate.errors ?? []).map((error) =>
        `${method}${error.instancePath.replaceAll("/", ".")} ${error.message ?? "is wrong"} ${JSON.stringify(error.params)}`.slice(
          0,
          500,
        ),
      );
    },
    fromForm(method, fields) {
      const properties = (definitions[paramsName(method)]?.["properties"] ?? {}) as Definitions;
      return Object.fromEntries(
        Object.entries(fields).map(([name, text]) => [
          name,
          takesText(properties[name], definitions) ? text : parsed(text),
        ]),
      );
    },
  };
}

/** The types name no params for a method without any. */
const withoutParams = new Set([
  "getMe",
  "getWebhookInfo",
  "logOut",
  "close",
  "getForumTopicIconStickers",
  "getAvailableGifts",
]);

function paramsName(method: string): string {
  return `${method.charAt(0).toUpperCase()}${method.slice(1)}Params`;
}

function takesText(schema: Schema | undefined, definitions: Definitions): boolean {
  if (schema === undefined) return true;
  const reference = schema["$ref"];
  if (typeof reference === "string")
    return takesText(definitions[decodeURIComponent(reference.replace("#/definitions/", ""))], definitions);
  const branches = schema["anyOf"];
  if (Array.isArray(branches)) return branches.some((branch: Schema) => takesText(branch, definitions));
  const type = schema["type"];
  return type === "string" || (Array.isArray(type) && type.includes("string"));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Left as it is: the schema then names the field.
    return text;
  }
}

async function loadDefinitions(): Promise<Definitions> {
  const require = createRequire(import.meta.url);
  const types = dirname(typesEntry(require));
  const { version } = JSON.parse(await readFile(join(types, "..", "package.json"), "utf8")) as {
    version: string;
  };
  const cacheFile = join(
    fileURLToPath(new URL("../../node_modules/.cache/", import.meta.url)),
    `telegram-params-${version}.json`,
  );
  // Null: not there yet.
  const cached = (): Promise<string | null> => readFile(cacheFile, "utf8").catch(() => null);
  await mkdir(dirname(cacheFile), { recursive: true });
  // It takes five seconds of a core, and in a fresh clone several processes want it at once: one makes it.
  const isOthers = await mkdir(`${cacheFile}.making`).then(
    () => false,
    () => true, // Another process does, or did and was killed.
  );
  for (let waited = 0; isOthers && waited < 150 && (await cached()) === null; waited += 1)
    await new Promise((resolve) => setTimeout(resolve, 200));
  const known = await cached();
  if (known !== null) return JSON.parse(known) as Definitions;
  const { createGenerator } = await import("ts-json-schema-generator");
  const generator = createGenerator({
    path: join(types, "params.d.ts"),
    skipTypeCheck: true,
    additionalProperties: false,
    topRef: true,
  });
  const definitions = generator.createSchema("*").definitions as Definitions;
  // Several may get here where the first was killed: each writes its own file and the last rename wins.
  await writeFile(`${cacheFile}.${process.pid}`, JSON.stringify(definitions));
  await rename(`${cacheFile}.${process.pid}`, cacheFile);
  return definitions;
}

/** The package exports types only, so it is found by its place and not by `require.resolve`. */
function typesEntry(require: NodeJS.Require): string {
  for (const folder of require.resolve.paths("@gramio/types") ?? []) {
    const entry = join(folder, "@gramio", "types", "out", "params.d.ts");
    if (existsSync(entry)) return entry;
  }
  throw new Error("@gramio/types is not installed: run `pnpm install`");
}
