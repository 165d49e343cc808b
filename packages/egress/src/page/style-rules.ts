// The reader of styles tells text that people see from text that only machines read, which is where pages
// hide orders to an agent. It knows what is written in the page: style attributes and plain rules of style
// elements, in their order; sheets loaded from elsewhere, and the weight of selectors, are beyond it.

export type Declarations = ReadonlyMap<string, string>;

/** What of a look an element's children inherit. */
export interface Look {
  /** Nothing inside is seen, whatever it says of itself. */
  readonly gone: boolean;
  readonly textless: boolean;
  readonly invisible: boolean;
  readonly color: string | null;
  readonly background: string | null;
}

export const plainLook: Look = {
  gone: false,
  textless: false,
  invisible: false,
  color: null,
  background: null,
};

export const showsText = (look: Look): boolean =>
  !look.gone &&
  !look.textless &&
  !look.invisible &&
  look.color !== "transparent" &&
  (look.color === null || look.color !== look.background);

/** Comments and escapes are undone first: both are ways to write a property past a search for its name. */
function declarations(text: string): Declarations {
  const found = new Map<string, string>();
  const plain = text
    .slice(0, 10_000)
    .replaceAll(/\/\*[^]*?\*\//g, "")
    .replaceAll(/\\([0-9a-f]{1,6})\s?/gi, (_all, hex: string) => characterOf(hex))
    .replaceAll("\\", "");
  for (const one of plain.split(";")) {
    const colon = one.indexOf(":");
    if (colon < 0) continue;
    const value = one.slice(colon + 1).replace(/!\s*important/i, "");
    found.set(one.slice(0, colon).trim().toLowerCase(), value.trim().toLowerCase());
  }
  return found;
}

const characterOf = (hex: string): string => {
  const code = Number.parseInt(hex, 16);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "";
};

/** The number that a length begins with; calc() around one number is that number. */
const amount = (value: string | undefined): number =>
  Number.parseFloat((value ?? "").replace(/^calc\(\s*/, ""));
const isTiny = (value: string | undefined, limit: number): boolean => Math.abs(amount(value)) < limit;
/** Further than any layout needs. */
const farPx = -400;
const isFar = (value: string | undefined): boolean =>
  amount(value) <=
  (/^-[\d.]+r?em/.test(value ?? "") ? farPx / 16 : /^-[\d.]+(%|v[wh])/.test(value ?? "") ? -99 : farPx);

function isGone(of: Declarations): boolean {
  const value = (name: string): string => of.get(name) ?? "";
  if (value("display") === "none" || value("content-visibility") === "hidden") return true;
  if (of.has("opacity") && isTiny(value("opacity"), 0.05)) return true;
  if (/opacity\(\s*(0|0?\.0\d*|[0-4]%)\s*\)/.test(value("filter"))) return true;
  if (/scale[xy]?\(\s*0(\.0\d*)?\s*[,)]/.test(value("transform"))) return true;
  if (/translate[xy]?\(\s*-\d{3,}/.test(value("transform"))) return true;
  if (/rect\(\s*(0|1px)/.test(value("clip"))) return true;
  if (/inset\(\s*(50|100)%|circle\(\s*0/.test(value("clip-path"))) return true;
  if (["text-indent", "margin-left", "margin-top", "margin-right"].some((name) => isFar(of.get(name))))
    return true;
  if (/absolute|fixed/.test(value("position")))
    if (["left", "right", "top", "bottom"].some((name) => isFar(of.get(name)))) return true;
  return (
    /hidden|clip/.test(`${value("overflow")}${value("overflow-x")}${value("overflow-y")}`) &&
    ["width", "height", "max-width", "max-height"].some((name) => of.has(name) && isTiny(of.get(name), 2))
  );
}

/** Sizes by the parent's size stay nothing where that is nothing. */
const isRelative = (size: string): boolean => /(^|\d)(em|%|ex|ch)$|^(smaller|larger|inherit)$/.test(size);

export function lookWith(inherited: Look, of: Declarations): Look {
  if (inherited.gone || of.size === 0) return inherited;
  const size = of.get("font-size") ?? shorthandSize(of.get("font"));
  const visibility = of.get("visibility");
  const background = of.get("background-color") ?? of.get("background");
  return {
    gone: isGone(of),
    textless:
      size === undefined || (inherited.textless && isRelative(size)) ? inherited.textless : isTiny(size, 2),
    invisible:
      visibility === undefined ? inherited.invisible : visibility === "hidden" || visibility === "collapse",
    color: plainColor(of.get("-webkit-text-fill-color") ?? of.get("color")) ?? inherited.color,
    background: plainColor(background) ?? inherited.background,
  };
}

const shorthandSize = (font: string | undefined): string | undefined =>
  /(?:^|\s)([\d.]+(?:px|pt|r?em|%)?)(?:\/\S+)?\s+\S/.exec(font ?? "")?.[1];

const names: Readonly<Record<string, string>> = {
  white: "#ffffff",
  black: "#000000",
  red: "#ff0000",
  yellow: "#ffff00",
  transparent: "transparent",
};

/** Null for what cannot be compared: pictures, gradients, variables, names that are rare in hiding. */
function plainColor(value: string | undefined): string | null {
  if (value === undefined) return null;
  const named = names[value];
  if (named !== undefined) return named;
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])$/.exec(value);
  if (short !== null)
    return `#${short
      .slice(1)
      .map((digit) => digit + digit)
      .join("")}`;
  if (/^#[0-9a-f]{6}$/.test(value)) return value;
  const parts = /^rgba?\(([^)]*)\)$/.exec(value)?.[1]?.split(/[\s,/]+/) ?? [];
  if (parts.length < 3) return null;
  if (parts.length > 3 && isTiny(parts[3], 0.05)) return "transparent";
  return `#${parts
    .slice(0, 3)
    .map((part) => Number(part).toString(16).padStart(2, "0"))
    .join("")}`;
}

interface Compound {
  readonly tag: string | null;
  readonly id: string | null;
  readonly classes: readonly string[];
}

/** An element as selectors see it, with those around it. */
export interface Styled {
  readonly tag: string;
  readonly id: string;
  readonly classes: ReadonlySet<string>;
  readonly parent: Styled | null;
}

interface StyleRule {
  /** The last one is the element itself, those before it are around it. */
  readonly path: readonly Compound[];
  readonly declares: Declarations;
}

/** Only these say something about what is seen; a rule without one is dropped. */
const telling =
  /display|visibility|opacity|font|color|background|position|clip|overflow|transform|indent|margin|filter/i;
/** More than pages need; a page with more shows what its further rules would hide. */
const mostRules = 2_000;
const longestSheetChars = 400_000;

/** Rules by what their last part asks first, so that an element meets few of them. */
export type StyleRules = ReadonlyMap<string, readonly StyleRule[]>;

export function styleRules(sheets: readonly string[]): StyleRules {
  const rules = new Map<string, StyleRule[]>();
  let count = 0;
  const text = sheets
    .join("\n")
    .slice(0, longestSheetChars)
    .replaceAll(/\/\*[^]*?\*\/|<!--|-->/g, "");
  // A block without a block inside stands behind a selector, or behind an at-rule that holds no rules.
  for (const block of unprinted(text).split("}")) {
    if (count >= mostRules) break;
    const opens = block.lastIndexOf("{");
    if (opens < 0) continue;
    const body = block.slice(opens + 1);
    const before = block.slice(0, opens);
    // A rule inside another one counts as one that stands alone.
    const selectors = (before.split(/[;{]/).at(-1) ?? "").trim();
    if (selectors.startsWith("@") || !telling.test(body)) continue;
    const declares = declarations(body);
    for (const selector of selectors.split(",")) {
      const path = pathOf(selector);
      const last = path?.at(-1);
      if (path === null || last === undefined) continue;
      const key =
        last.id !== null
          ? `#${last.id}`
          : last.classes[0] !== undefined
            ? `.${last.classes[0]}`
            : (last.tag ?? "*");
      const kept = rules.get(key) ?? [];
      rules.set(key, kept);
      kept.push({ path, declares });
      count += 1;
    }
  }
  return rules;
}

/** Without what is for paper, narrow screens and animations; rules in other at-rules count as plain. */
function unprinted(text: string): string {
  let out = "";
  let at = 0;
  for (const { 0: head, index } of text.matchAll(/@[^{};]*\{/g)) {
    if (index < at) continue;
    out += text.slice(at, index);
    at = index + head.length;
    if (/^@(layer|supports|container|media\s+(all|screen)\s*\{)/i.test(head)) continue;
    let open = 1;
    while (open > 0 && at < text.length) {
      const char = text.charAt(at);
      if (char === "{") open += 1;
      if (char === "}") open -= 1;
      at += 1;
    }
  }
  return out + text.slice(at);
}

function pathOf(selector: string): Compound[] | null {
  const parts = selector.trim().split(/[\s>]+/);
  // Sibling selectors, states and attributes are not followed.
  if (parts.length > 8 || /[:[\]+~*\\]/.test(selector)) return null;
  return parts.map((part) => ({
    tag: /^[a-z][\w-]*/i.exec(part)?.[0].toLowerCase() ?? null,
    id: /#([\w-]+)/.exec(part)?.[1] ?? null,
    classes: [...part.matchAll(/\.([\w-]+)/g)].map(([, name = ""]) => name),
  }));
}

const fits = (compound: Compound | undefined, element: Styled): boolean =>
  compound !== undefined &&
  (compound.tag === null || compound.tag === element.tag) &&
  (compound.id === null || compound.id === element.id) &&
  compound.classes.every((name) => element.classes.has(name));

function applies({ path }: StyleRule, element: Styled): boolean {
  if (!fits(path.at(-1), element)) return false;
  let wanted = path.length - 2;
  for (let around = element.parent; wanted >= 0 && around !== null; around = around.parent)
    if (fits(path[wanted], around)) wanted -= 1;
  return wanted < 0;
}

/** What the rules and then the element's own attribute say of it. */
export function stylesOf(rules: StyleRules, element: Styled, attribute: string | undefined): Declarations {
  const found = new Map<string, string>();
  if (rules.size > 0)
    for (const key of [element.tag, ...[...element.classes].map((name) => `.${name}`), `#${element.id}`])
      for (const rule of rules.get(key) ?? [])
        if (applies(rule, element)) for (const [name, value] of rule.declares) found.set(name, value);
  if (attribute !== undefined) for (const [name, value] of declarations(attribute)) found.set(name, value);
  return found;
}
