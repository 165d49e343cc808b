// Implements `parley config get|set|unset|validate|schema|file`, also while the config file is broken and
// nothing runs.
import { readFile } from "node:fs/promises";
import { text as readAll } from "node:stream/consumers";
import {
  ConfigFault,
  configJsonSchema,
  describeProblem,
  nearestWord,
  parseConfigPath,
  parseDocument,
  placesIn,
  type ConfigProblem,
} from "@parley/config";
import { isFault, printableJson } from "@parley/protocol";
import {
  changeConfig,
  checkConfig,
  localConfigEditor,
  readConfig,
  readConfigText,
  type Change,
  type Written,
} from "../../config-editor.ts";
import { document, line, result, styled, words, type Console } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";

export async function configGet(
  terminal: Console,
  path: string | undefined,
  { file, text }: { readonly file?: boolean; readonly text?: boolean },
): Promise<ExitCode> {
  if (text === true) return configText(terminal);
  const found = await readConfig(terminal);
  tellProblems(terminal, found.path, found.problems, "red");
  // What is wrong in one place must not hide the others.
  const isFile = file === true || found.problems.length > 0;
  if (isFile && found.problems.length > 0 && file !== true)
    line(terminal.err, "Shown is what the file says, without defaults.");
  const value =
    path === undefined
      ? isFile
        ? found.file
        : found.config
      : valueAt(isFile ? found.file : found.config, path);
  if (terminal.json) document(terminal.out, value);
  else words(terminal.out, typeof value === "string" ? value : printableJson(JSON.stringify(value, null, 2)));
  return found.problems.length > 0 ? exitCodes.config : exitCodes.ok;
}

async function configText(terminal: Console): Promise<ExitCode> {
  const text = await readConfigText(terminal);
  if (text === null)
    throw new CommandFailure(
      "invalid",
      "The file is no JSON5 as it stands, so nobody knows where its secrets are: `parley config validate` says at which line it cannot be read.",
      exitCodes.config,
    );
  if (terminal.json) document(terminal.out, { text });
  else words(terminal.out, text.trimEnd());
  return exitCodes.ok;
}

export async function configSet(
  terminal: Console,
  path: string,
  text: string,
  { string }: { readonly string?: boolean },
): Promise<ExitCode> {
  const place = placeOf(path);
  const said = text === "-" ? (await readAll(terminal.input)).trim() : text;
  const parsed = string === true ? undefined : jsonOf(said);
  // An id in digits, or a word that happens to be JSON, is meant as a text where the schema wants one: what
  // fits is taken.
  const candidates: readonly unknown[] =
    parsed === undefined ? [said] : typeof parsed === "string" ? [parsed] : [parsed, said];
  let refusal: unknown;
  for (const value of candidates) {
    try {
      return tellWritten(terminal, await changeConfig(terminal, [{ path: place, value }]));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // "A text was expected" says nothing where a text was tried as well.
      if (!(refusal instanceof Error) || refusal.message.includes("expected string")) refusal = error;
    }
  }
  throw refused(terminal, refusal);
}

export async function configUnset(terminal: Console, path: string): Promise<ExitCode> {
  const change: Change = { path: placeOf(path) };
  try {
    return tellWritten(terminal, await changeConfig(terminal, [change]));
  } catch (error) {
    throw isRefusal(error) ? refused(terminal, error) : error;
  }
}

/** 78 when anything is wrong. */
export async function configValidate(terminal: Console, file: string | undefined): Promise<ExitCode> {
  const path = file ?? placesIn(terminal.env).configPath;
  const { problems, warnings } =
    file === undefined
      ? await checkConfig(terminal)
      : await localConfigEditor(terminal).validate(await textOf(file));
  if (terminal.json) document(terminal.out, { ok: problems.length === 0, path, problems, warnings });
  else {
    tellProblems(terminal, path, warnings, "yellow");
    tellProblems(terminal, path, problems, "red");
    if (problems.length === 0) line(terminal.out, `${path} is valid.`);
  }
  return problems.length === 0 ? exitCodes.ok : exitCodes.config;
}

export async function configSchema(terminal: Console): Promise<ExitCode> {
  const schema = configJsonSchema();
  if (terminal.json) document(terminal.out, schema);
  else words(terminal.out, JSON.stringify(schema, null, 2));
  return exitCodes.ok;
}

export async function configFile(terminal: Console): Promise<ExitCode> {
  const { configPath } = placesIn(terminal.env);
  result(terminal, { path: configPath }, configPath);
  return exitCodes.ok;
}

function tellWritten(terminal: Console, written: Written): ExitCode {
  if (terminal.json) {
    document(terminal.out, written);
    return exitCodes.ok;
  }
  tellProblems(terminal, written.path, written.warnings, "yellow");
  if (written.changed.length === 0) line(terminal.out, `${written.path} says so already.`);
  else {
    line(terminal.out, `Wrote ${written.path}: ${written.changed.join(", ")}.`);
    tellProblems(terminal, written.path, written.problems, "red");
    if (written.problems.length > 0)
      line(terminal.err, "Nothing of the file is in force before this is mended, too.");
    else if (written.restartNeeded.length > 0)
      line(terminal.out, `\`parley restart\` brings it into effect: ${written.restartNeeded.join(", ")}.`);
  }
  return exitCodes.ok;
}

function tellProblems(
  terminal: Console,
  path: string,
  problems: readonly ConfigProblem[],
  colour: "red" | "yellow",
): void {
  for (const problem of problems)
    words(terminal.err, styled(terminal.err, terminal.env, colour, describeProblem(path, problem)));
}

/** The change was understood and its result is wrong. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof ConfigFault ||
    (error instanceof CommandFailure && error.code === "invalid") ||
    isFault(error, "invalid")
  );
}

function refused({ env }: Console, error: unknown): CommandFailure {
  const words = error instanceof Error ? error.message : String(error);
  return new CommandFailure(
    "invalid",
    `Nothing was written to ${placesIn(env).configPath}:\n${words}`,
    exitCodes.failed,
    { cause: error },
  );
}

function placeOf(text: string): Change["path"] {
  try {
    return parseConfigPath(text);
  } catch (error) {
    if (isFault(error)) throw new CommandFailure("invalid", error.message, exitCodes.usage, { cause: error });
    throw error;
  }
}

/**
 * Undefined for what is no JSON, and for numbers that would lose digits. A block or a list may be written as
 * in the file.
 */
function jsonOf(text: string): unknown {
  if (/^\s*[{[]/.test(text)) {
    const { value, problems } = parseDocument(text);
    return problems.length === 0 ? value : undefined;
  }
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "number" && String(value) !== text.trim() ? undefined : value;
  } catch {
    // Most texts are no JSON.
    return undefined;
  }
}

/** Throws CommandFailure that names the nearest key where there is no such place. */
function valueAt(root: unknown, path: string): unknown {
  let value = root;
  for (const step of placeOf(path)) {
    const keys = typeof value === "object" && value !== null ? Object.keys(value) : [];
    if (!keys.includes(String(step))) {
      const near = nearestWord(String(step), keys);
      const hint = near === null ? "" : ` Did you mean "${near}"?`;
      throw new CommandFailure("missing", `Nothing is set at ${path}.${hint}`);
    }
    value = (value as { readonly [key: string]: unknown })[String(step)];
  }
  return value;
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new CommandFailure(
      "missing",
      `${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
      undefined,
      {
        cause,
      },
    );
  }
}
