// The platform-neutral form of a reply: its visible text, with nested spans over it. Splitting cuts this form
// and every dialect renders from it, so a cut can never leave half a construct behind.

/** One meaning laid over a stretch of text. */
export type Mark =
  | { readonly kind: "bold" | "italic" | "strike" | "spoiler" | "code" }
  /** A formula as written, with what opens and closes it. */
  | { readonly kind: "math" }
  /** A formula with its lines to itself. */
  | { readonly kind: "formula" }
  /**
   * `masked`: the label differs from the address. `bare`: the label is the address. `spelled`: the address
   * follows the label as an ornament.
   */
  | { readonly kind: "link"; readonly url: string; readonly form: "masked" | "bare" | "spelled" }
  /** `tight`: an item of a list without blank lines. */
  | { readonly kind: "paragraph"; readonly tight: boolean }
  | { readonly kind: "heading"; readonly level: number }
  /** `language` is empty where none was named. */
  | { readonly kind: "pre"; readonly language: string }
  /** `nested`: inside another quote or a list, where chat platforms have no quotes; ornaments show it. */
  | { readonly kind: "quote"; readonly nested: boolean }
  | { readonly kind: "list"; readonly ordered: boolean }
  | { readonly kind: "item"; readonly number: number | null; readonly checked: boolean | null }
  | { readonly kind: "rule" }
  /** Table text outside the cells is padding for a fixed-width font. */
  | { readonly kind: "table" }
  | { readonly kind: "row"; readonly header: boolean }
  | { readonly kind: "cell"; readonly align: "left" | "right" | "center" | null }
  /**
   * Text that only stands for structure: bullets, numbers, indentation. HTML shows it with tags; Discord with
   * `discord`, if set.
   */
  | { readonly kind: "ornament"; readonly discord?: string };

export type MarkKind = Mark["kind"];

/** Offsets in UTF-16 code units; `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
  /** Number of spans that enclose this one. */
  readonly depth: number;
  readonly mark: Mark;
}

/** `spans` are in pre-order (a span before its contents) and properly nested. */
export interface Document {
  readonly text: string;
  readonly spans: readonly Span[];
}

/** True where whitespace is part of the meaning. */
export function isVerbatim(kind: MarkKind): boolean {
  return kind === "pre" || kind === "table" || kind === "code";
}

/** True for styles of running text, false for blocks. */
export function isInline(kind: MarkKind): boolean {
  return (
    kind === "bold" ||
    kind === "italic" ||
    kind === "strike" ||
    kind === "spoiler" ||
    kind === "code" ||
    kind === "math" ||
    kind === "link"
  );
}
