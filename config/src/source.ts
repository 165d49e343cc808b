// Parses one file into what the rules ask about: imports, exports, declarations, uses and comments. Rules
// read the syntax tree and never the text, so that a word in a comment or a string is not mistaken for code.
import path from "node:path";
import { parseSync, Visitor, type Expression, type ObjectExpression, type Program } from "oxc-parser";

export interface Import {
  readonly from: string;
  /** True when nothing of it is left once the types are stripped. */
  readonly typeOnly: boolean;
  /** `import("...")` as an expression. */
  readonly lazy: boolean;
  /** Names as the other file exports them; empty for a lazy import and for `export *`. */
  readonly names: readonly string[];
}

interface Factory {
  readonly name: string;
  /** The declared return type, without its `Promise<>`. */
  readonly makes: string;
}

export interface SourceFile {
  /** Relative to the root, with `/`. */
  readonly path: string;
  /** For example "packages/store" or "config". */
  readonly member: string;
  readonly area: "src" | "test" | "other";
  readonly lines: number;
  readonly opensWithComment: boolean;
  readonly imports: readonly Import[];
  readonly exports: readonly string[];
  readonly exportsDefault: boolean;
  /** Exported functions with a declared return type that is a plain name. */
  readonly factories: readonly Factory[];
  readonly interfaces: readonly { readonly name: string; readonly members: number }[];
  /**
   * Dotted paths of names that are used or called: "Date.now", "process.env", "setTimeout", "describe.skip".
   */
  readonly uses: readonly Use[];
  /** Counts each identifier in code outside import and export lists. */
  readonly mentions: ReadonlyMap<string, number>;
  readonly strings: ReadonlySet<string>;
  /** The entries under each key `skip`. */
  readonly skips: readonly { readonly line: number; readonly reason: boolean }[];
  /** `columns`: the width of the widest line that the comment stands on. */
  readonly comments: readonly { readonly text: string; readonly line: number; readonly columns: number }[];
  readonly errors: readonly string[];
}

interface Use {
  readonly name: string;
  readonly line: number;
  /** The number of arguments of a call or `new`; null where it is neither. */
  readonly args: number | null;
}

/** "a.b.c" for plain member access, also through `?.` and `["b"]`; null for anything computed. */
function dotted(node: Expression): string | null {
  if (node.type === "Identifier") return node.name;
  if (node.type === "ChainExpression") return dotted(node.expression);
  if (node.type !== "MemberExpression" || node.object.type === "Super") return null;
  const object = dotted(node.object);
  if (object === null) return null;
  if (node.property.type === "Identifier" && !node.computed) return `${object}.${node.property.name}`;
  return node.property.type === "Literal" && typeof node.property.value === "string"
    ? `${object}.${node.property.value}`
    : null;
}

function importsOf(parsed: ReturnType<typeof parseSync>, text: string): Import[] {
  const found: Import[] = parsed.module.staticImports.map((statement) => ({
    from: statement.moduleRequest.value,
    typeOnly: statement.entries.length > 0 && statement.entries.every((entry) => entry.isType),
    lazy: false,
    names: statement.entries.map((entry) => entry.importName.name ?? "*"),
  }));
  for (const statement of parsed.module.staticExports) {
    const [first] = statement.entries;
    const from = first?.moduleRequest?.value;
    if (from === undefined) continue;
    const names = statement.entries.flatMap((entry) => entry.importName.name ?? []);
    found.push({ from, typeOnly: statement.entries.every((entry) => entry.isType), lazy: false, names });
  }
  for (const { moduleRequest } of parsed.module.dynamicImports) {
    const literal = /^["'](.*)["']$/.exec(text.slice(moduleRequest.start, moduleRequest.end));
    if (literal?.[1] !== undefined) found.push({ from: literal[1], typeOnly: false, lazy: true, names: [] });
  }
  return found;
}

function factoriesOf(program: Program, text: string): Factory[] {
  return program.body.flatMap((node) => {
    if (node.type !== "ExportNamedDeclaration" || node.declaration?.type !== "FunctionDeclaration") return [];
    const { id, returnType } = node.declaration;
    if (id === null || !returnType) return [];
    const { start, end } = returnType.typeAnnotation;
    const makes = /^(?:Promise<)?(\w+)>?$/.exec(text.slice(start, end))?.[1];
    return makes === undefined ? [] : [{ name: id.name, makes }];
  });
}

const isText = (node: Expression): boolean =>
  node.type !== "Literal" || (typeof node.value === "string" && node.value.trim() !== "");

/**
 * Tells for each entry of `skip: [{ case, reason }]` or `skip: { case: "reason" }` if it has a reason; a
 * computed value counts as one.
 */
function reasonsIn(value: Expression): boolean[] {
  const values = (node: ObjectExpression): Map<string, Expression> =>
    new Map(
      node.properties.flatMap((it): [string, Expression][] =>
        it.type === "Property"
          ? [[it.key.type === "Identifier" ? it.key.name : String(it.start), it.value]]
          : [],
      ),
    );
  if (value.type === "Literal") return value.value === null || value.value === false ? [] : [false];
  if (value.type === "ObjectExpression") return [...values(value).values()].map(isText);
  if (value.type !== "ArrayExpression") return [];
  return value.elements.flatMap((element) => {
    if (element === null || element.type === "SpreadElement") return [];
    if (element.type === "Literal") return [false];
    if (element.type !== "ObjectExpression") return [];
    const reason = values(element).get("reason");
    return [reason !== undefined && isText(reason)];
  });
}

function placeOf(name: string): Pick<SourceFile, "member" | "area"> {
  const parts = name.split("/");
  const depth = parts[0] === "apps" || parts[0] === "packages" ? 2 : 1;
  const area = parts[depth];
  return {
    member: parts.slice(0, depth).join("/"),
    area: area === "src" || area === "test" ? area : "other",
  };
}

export function readSource(name: string, text: string): SourceFile {
  const parsed = parseSync(name, text);
  const { program } = parsed;
  const lines = text.split("\n");
  const lineStarts = [0, ...[...text.matchAll(/\n/g)].map((found) => found.index + 1)];
  const lineAt = (offset: number): number => lineStarts.findLastIndex((start) => start <= offset) + 1;
  const lists = [
    ...parsed.module.staticImports,
    ...parsed.module.staticExports.filter((it) => it.entries.every((entry) => entry.moduleRequest)),
  ];
  const listed = (offset: number): boolean => lists.some((list) => list.start <= offset && offset < list.end);

  const imports = importsOf(parsed, text);
  const uses: Use[] = [];
  const mentions = new Map<string, number>();
  const strings = new Set<string>();
  const skips: { line: number; reason: boolean }[] = [];
  const interfaces: { name: string; members: number }[] = [];
  const use = (node: Expression, args: number | null): void => {
    const called = dotted(node);
    if (called !== null) uses.push({ name: called, line: lineAt(node.start), args });
  };
  new Visitor({
    MemberExpression: (node) => use(node, null),
    CallExpression: (node) => use(node.callee, node.arguments.length),
    NewExpression: (node) => use(node.callee, node.arguments.length),
    Identifier(node) {
      if (!listed(node.start)) mentions.set(node.name, (mentions.get(node.name) ?? 0) + 1);
    },
    Literal(node) {
      if (typeof node.value === "string") strings.add(node.value);
    },
    ObjectExpression(node) {
      for (const it of node.properties) {
        if (it.type !== "Property" || it.key.type !== "Identifier" || it.key.name !== "skip") continue;
        skips.push(...reasonsIn(it.value).map((reason) => ({ line: lineAt(it.start), reason })));
      }
    },
    TSInterfaceDeclaration: (node) =>
      void interfaces.push({ name: node.id.name, members: node.body.body.length }),
    TSImportType: (node) =>
      void imports.push({ from: node.source.value, typeOnly: true, lazy: false, names: [] }),
  }).visit(program);

  const exported = parsed.module.staticExports.flatMap((statement) => statement.entries);
  return {
    path: name,
    ...placeOf(name),
    lines: lineStarts.length - (text.endsWith("\n") ? 1 : 0),
    opensWithComment: /^(#!.*\n)?\s*\/[/*]/.test(text),
    imports,
    exports: exported.flatMap((entry) =>
      entry.exportName.kind === "Name" ? (entry.exportName.name ?? []) : [],
    ),
    exportsDefault: exported.some((entry) => entry.exportName.kind === "Default"),
    factories: factoriesOf(program, text),
    interfaces,
    uses,
    mentions,
    strings,
    skips,
    comments: parsed.comments.map(({ value, start, end }) => ({
      text: value,
      line: lineAt(start),
      columns: Math.max(...lines.slice(lineAt(start) - 1, lineAt(end)).map((line) => line.length)),
    })),
    errors: parsed.errors.map((error) => error.message),
  };
}

/** The path a relative import points to; null for a package. */
export function relativeTarget(file: SourceFile, from: string): string | null {
  return from.startsWith(".") ? path.posix.join(path.posix.dirname(file.path), from) : null;
}

/** "@parley/store" of "@parley/store/deep", "node:fs" of "node:fs/promises". */
export function packageOf(from: string): string {
  const parts = from.split("/");
  return from.startsWith("@") ? parts.slice(0, 2).join("/") : (parts[0] ?? from);
}
