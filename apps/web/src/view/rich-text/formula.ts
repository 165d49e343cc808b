// Draws TeX as MathML, which browsers lay out without fonts or scripts of ours. What agents write is hostile:
// Temml parses it, and this file builds elements from Temml's tree by lists of what may stand there, so that
// a formula is never more than a formula.
import temml, { type Options } from "temml";

/** Limits that no formula for people needs; what is beyond them stays source. */
const mostChars = 4_000;
const mostElements = 5_000;
const deepest = 60;
const mostExpansions = 500;
/** Heights and widths that a formula may ask for, in em. */
const largestEm = 10;
/** More than this is drawn in the next frame, so that a page of formulas does not stop the page. */
const charsAtOnce = 3_000;
const mostKept = 500;
/** A longer one in running text scrolls in a box of its own, because formulas are not broken into lines. */
const shortChars = 60;

/** Macros of one's own can double themselves without counting as expansions. */
const definitions = /\\(?:[egx]?def|(?:re|provide)?(?:new)?command|let|futurelet|global|long)(?![a-zA-Z])/;
const namespace = "http://www.w3.org/1998/Math/MathML";
const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));
const elements = words(
  `math menclose mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace msqrt mstyle
  msub msubsup msup mtable mtd mtext mtr munder munderover none semantics`,
);
const attributes = words(
  `accent accentunder columnalign columnlines columnspacing depth display displaystyle fence form frame height largeop
  linebreak linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize minsize movablelimits notation
  rowlines rowspacing rspace scriptlevel separator stretchy symmetric voffset width`,
);
const styles = words(
  `border borderBottom borderLeft borderRight borderTop color fontFamily fontStyle fontWeight height marginLeft
  mathDepth mathStyle padding paddingBottom paddingLeft paddingRight paddingTop textAlign whiteSpace width`,
);
const harmless = /^[\p{L}\p{N}\s.,#%+-]{0,80}$/u;
const className = /^tml-[a-z-]+$/;

let sheet: CSSStyleSheet | null = null;
const looks = `
  .math.dressed math { line-height: normal; text-indent: 0; direction: ltr; }
  .math.dressed math * { border-color: currentColor; }
  .math.drawn { display: inline-block; max-width: 100%; contain: paint; }
  .math.drawn.wide { overflow-x: auto; overflow-y: hidden; vertical-align: middle; }
  .math.drawn.display { display: block; margin: 0.7rem 0; padding: 0.2rem 0; text-align: center; }
  .math.source { font-family: ui-monospace, monospace; font-size: 0.9em; white-space: pre-wrap; }
  .tml-right { text-align: right; }
  .tml-left { text-align: left; }
  .tml-fbox { padding: 3pt; border: 1px solid; }
  menclose[notation*="updiagonalstrike"] {
    background: linear-gradient(to top right, transparent 47%, currentColor 48% 52%, transparent 53%);
  }
  menclose[notation="downdiagonalstrike"] {
    background: linear-gradient(to bottom right, transparent 47%, currentColor 48% 52%, transparent 53%);
  }
  menclose[notation="horizontalstrike"] {
    background: linear-gradient(to bottom, transparent 47%, currentColor 48% 52%, transparent 53%);
  }
  menclose[notation="top"] { padding-top: 0.1em; border-top: 0.065em solid; }
  menclose[notation="bottom"] { padding-bottom: 0.1em; border-bottom: 0.065em solid; }
  mtable.tml-jot mtd { padding-top: 0.35ex; padding-bottom: 0.35ex; }
  mtable.tml-small mtd { padding-top: 0.09em; padding-bottom: 0.09em; }
`;

/** What was drawn, by source; null for what cannot be. */
const kept = new Map<string, Element | null>();

export function drawFormulas(found: readonly HTMLElement[], again: () => void): void {
  adopt(found[0]?.getRootNode());
  let chars = 0;
  for (const element of found) {
    const { source, display } = read(element);
    const key = `${display ? "d" : "i"}${source}`;
    if (!kept.has(key)) {
      if (chars > charsAtOnce) return void requestAnimationFrame(again);
      chars += source.length;
      kept.set(key, drawn(source, display));
    }
    show(element, kept.get(key) ?? null, display, source.length > shortChars);
  }
  for (const key of kept.keys()) {
    if (kept.size <= mostKept) break;
    kept.delete(key);
  }
}

/** Constructed sheets are what the page's policy allows. */
function adopt(root: Node | undefined): void {
  if (sheet === null) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(looks);
  }
  if (!(root instanceof ShadowRoot || root instanceof Document)) return;
  if (root.adoptedStyleSheets.includes(sheet)) return;
  root.adoptedStyleSheets.push(sheet);
}

function read(element: HTMLElement): { readonly source: string; readonly display: boolean } {
  const text = element.textContent.trim();
  if (element.localName === "code") return { source: text, display: true };
  const display = text.startsWith("$$") || text.startsWith("\\[");
  const width = display || text.startsWith("\\") ? 2 : 1;
  return { source: text.slice(width, -width).trim(), display };
}

function show(element: HTMLElement, formula: Element | null, display: boolean, isLong: boolean): void {
  element.classList.add("dressed");
  if (formula === null) return void element.classList.toggle("source", element.localName !== "code");
  let box = element;
  if (element.localName === "code") {
    box = document.createElement("div");
    box.className = "math dressed";
    (element.closest(".code") ?? element.closest("pre"))?.replaceWith(box);
  }
  const isWide = display || isLong;
  box.classList.add("drawn", ...(display ? ["display"] : []), ...(isWide ? ["wide"] : []));
  // What is too wide is read by scrolling, with keys too.
  if (isWide) box.setAttribute("tabindex", "0");
  box.replaceChildren(formula.cloneNode(true));
}

/** Null where the source is too large, wrong, or asks for what formulas may not. */
function drawn(source: string, display: boolean): Element | null {
  const tree = treeOf(source, display);
  if (tree === null) return null;
  let count = 0;
  const build = (node: FormulaNode, depth: number): Node => {
    count += 1;
    if (count > mostElements || depth > deepest) throw new RangeError("the formula is too large");
    const { type, text, children = [] } = node;
    if (type === undefined && text !== undefined) return document.createTextNode(text);
    if (type === undefined) {
      const fragment = document.createDocumentFragment();
      for (const child of children) fragment.append(build(child, depth + 1));
      return fragment;
    }
    if (!elements.has(type)) throw new TypeError(`${type} does not stand in formulas`);
    const element = document.createElementNS(namespace, type) as MathMLElement;
    for (const [name, value] of Object.entries(node.attributes ?? {}))
      if (attributes.has(name) && harmless.test(String(value))) element.setAttribute(name, String(value));
    for (const [name, value] of Object.entries(node.style ?? {}))
      // Set by script, because the page's policy forbids styles in markup.
      if (styles.has(name) && harmless.test(String(value)))
        element.style.setProperty(kebab(name), String(value));
    const classes = (node.classes ?? []).filter((each) => className.test(each));
    if (classes.length > 0) element.setAttribute("class", classes.join(" "));
    for (const child of children) element.append(build(child, depth + 1));
    return element;
  };
  try {
    const built = build(tree, 0);
    return built instanceof Element && built.localName === "math" ? built : null;
  } catch {
    // Too large or too odd: the reader sees the source.
    return null;
  }
}

/** Temml's nodes: elements, text, and groups without a type. */
interface FormulaNode {
  readonly type?: string;
  readonly text?: string;
  readonly children?: readonly FormulaNode[];
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly style?: Readonly<Record<string, unknown>>;
  readonly classes?: readonly string[];
}

/** The name that the library has for it; its types have another. */
const parser = temml as unknown as {
  readonly __renderToMathMLTree: (source: string, options: Options) => FormulaNode;
};

/** Exported for its tests. */
export function treeOf(source: string, display: boolean): FormulaNode | null {
  if (source.length > mostChars || source.trim() === "" || definitions.test(source)) return null;
  try {
    return parser.__renderToMathMLTree(source, {
      displayMode: display,
      throwOnError: true,
      trust: false,
      strict: false,
      wrap: "none",
      macros: {},
      maxExpand: mostExpansions,
      maxSize: [largestEm, largestEm],
    });
  } catch {
    // No TeX that Temml knows: the reader sees the source.
    return null;
  }
}

function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
