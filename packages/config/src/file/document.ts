// Parses the config file (JSON5) and keeps the line and column of every value, so that every error can name
// them.
import { parse, type ObjectNode, type ValueNode } from "@humanwhocodes/momoa";
import { formatPath, type ConfigPath, type ConfigProblem } from "../problem.ts";

interface Position {
  readonly line: number;
  readonly column: number;
}

export interface ConfigDocument {
  readonly value: unknown;
  readonly problems: readonly ConfigProblem[];
  /**
   * Where the key at this path stands (an element: its value), or its nearest ancestor in the file; null
   * without a file.
   */
  locate(path: ConfigPath): Position | null;
}

export const emptyDocument: ConfigDocument = { value: {}, problems: [], locate: () => null };

/** Deeper than any config; a file beyond it is refused before the recursion could hurt. */
const deepest = 64;

/** Syntax errors come back as problems, never as a throw. */
export function parseDocument(text: string): ConfigDocument {
  let body: ValueNode;
  try {
    body = parse(text.trim() === "" ? "{}" : text, { mode: "json5" }).body;
  } catch (error) {
    return { ...emptyDocument, problems: [syntaxProblem(error)] };
  }
  const problems: ConfigProblem[] = [];
  const value = plain(body, [], problems);
  return { value, problems, locate: (path) => locate(body, path) };
}

function syntaxProblem(error: unknown): ConfigProblem {
  // The parser's own recursion ended.
  if (error instanceof RangeError)
    return { path: "", message: `nested more than ${deepest} levels deep`, fix: "Write it flatter" };
  const { line, column, message } = error as { line?: number; column?: number; message: string };
  // The parser repeats the position at the end of its message.
  const what = message.replace(/\s*\(\d+:\d+\)$/, "").replace(/\.$/, "");
  return {
    path: "",
    ...(line === undefined ? {} : { line, column: column ?? 1 }),
    message: `not valid JSON5: ${what}`,
    fix: "Check for a missing comma, quote or bracket just before this place",
  };
}

function plain(node: ValueNode, path: ConfigPath, problems: ConfigProblem[]): unknown {
  if (path.length > deepest) {
    problems.push({
      path: formatPath(path.slice(0, 3)),
      ...node.loc.start,
      message: `nested more than ${deepest} levels deep`,
    });
    return null;
  }
  switch (node.type) {
    case "Object":
      return plainObject(node, path, problems);
    case "Array":
      return node.elements.map((element, index) => plain(element.value, [...path, index], problems));
    case "Null":
      return null;
    case "NaN":
      return Number.NaN;
    case "Infinity":
      return node.sign === "-" ? -Infinity : Infinity;
    default:
      return node.value;
  }
}

function plainObject(
  node: ObjectNode,
  path: ConfigPath,
  problems: ConfigProblem[],
): { [key: string]: unknown } {
  const result: { [key: string]: unknown } = {};
  for (const member of node.members) {
    const key = keyOf(member);
    const at = {
      path: formatPath([...path, key]),
      line: member.name.loc.start.line,
      column: member.name.loc.start.column,
    };
    if (key === "__proto__") problems.push({ ...at, message: "this key is not allowed", fix: "Remove it" });
    else if (Object.hasOwn(result, key))
      problems.push({ ...at, message: "this key stands twice in its block", fix: "Keep one" });
    else result[key] = plain(member.value, [...path, key], problems);
  }
  return result;
}

function locate(root: ValueNode, path: ConfigPath): Position {
  let value = root;
  let { line, column } = root.loc.start;
  for (const step of path) {
    if (value.type === "Object") {
      const member = value.members.find((each) => keyOf(each) === step);
      if (member === undefined) break;
      ({ line, column } = member.name.loc.start);
      value = member.value;
    } else if (value.type === "Array" && typeof step === "number") {
      const element = value.elements[step];
      if (element === undefined) break;
      ({ line, column } = element.loc.start);
      value = element.value;
    } else break;
  }
  return { line, column };
}

export function keyOf(member: ObjectNode["members"][number]): string {
  return member.name.type === "Identifier" ? member.name.name : member.name.value;
}
