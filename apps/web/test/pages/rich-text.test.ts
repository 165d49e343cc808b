// What an answer's own markup gets on the page: buttons for its code, spoilers that open, diagrams in a
// frame of their own, and formulas; what the viewer of a canvas and the frame of a diagram do with what they
// are told.
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { toggleDiagram } from "../../src/view/rich-text/diagram.ts";
import { dressMath } from "../../src/view/rich-text/math.ts";
import { dressRichText, pressInRichText } from "../../src/view/rich-text/rich-text.ts";
import { browser, fire, markup, settled } from "../drawn.ts";

afterAll(() => vi.useRealTimers());

function page(html: string): HTMLElement {
  browser();
  document.body.innerHTML = html;
  for (const type of ["click", "keydown"]) document.body.addEventListener(type, pressInRichText);
  return document.body;
}

test("code of a finished answer has a button that copies it; a draft's has none, and nothing is dressed twice", async () => {
  const body = page(
    '<article><div class="rich"><pre>one</pre><p><pre><code class="language-mermaid">graph</code></pre></p></div></article>' +
      '<article class="draft"><div class="rich"><pre>grows</pre></div></article><pre>elsewhere</pre>',
  );
  const copied: string[] = [];
  vi.stubGlobal("navigator", { clipboard: { writeText: async (text: string) => void copied.push(text) } });
  dressRichText(body);
  const once = markup(body);
  dressRichText(body);
  expect(markup(body)).toBe(once);
  expect([...body.querySelectorAll(".code")].map(markup)).toEqual([
    '<pre tabindex="0" class="dressed">one</pre><button class="quiet copy">Copy</button>',
    '<pre tabindex="0" class="dressed"><code class="language-mermaid">graph</code></pre><button class="quiet copy">Copy</button>' +
      '<button aria-expanded="false" class="quiet show-diagram">Show the diagram</button>',
  ]);
  const [first, second] = body.querySelectorAll<HTMLElement>("button.copy");
  await fire(second ?? null, "keydown", { key: "Enter" });
  await fire(second ?? null, "click");
  expect([copied, second?.textContent, first?.textContent]).toEqual([["graph"], "Copied", "Copy"]);
  await fire(second ?? null, "blur");
  expect(second?.textContent).toBe("Copy");
  vi.stubGlobal("navigator", {});
  Object.assign(document, { execCommand: () => false });
  await fire(first ?? null, "click");
  expect(first?.textContent).toBe("Not allowed");
});

test("the menu's button copies a message's own text", async () => {
  const body = page(
    '<button class="copy-text" data-text="a &amp; b">Copy</button><button class="other">x</button>',
  );
  const copied: string[] = [];
  vi.stubGlobal("navigator", { clipboard: { writeText: async (text: string) => void copied.push(text) } });
  await fire(body.querySelector(".other"), "click");
  await fire(body.querySelector(".copy-text"), "click");
  expect(copied).toEqual(["a & b"]);
});

test("a spoiler is a button until it is pressed, by Enter or the space bar too", async () => {
  const spoiler = '<span class="spoiler"><b>words</b></span>';
  const body = page(`<div class="rich">${spoiler}${spoiler}${spoiler}</div>`);
  dressRichText(body);
  const all = [...body.querySelectorAll(".spoiler")];
  expect(all[0]?.outerHTML).toBe(
    '<span aria-label="Hidden text, press to show it" role="button" tabindex="0" class="spoiler"><b>words</b></span>',
  );
  const isPrevented = async (at: number, type: string, more: object = {}): Promise<boolean> =>
    (await fire(all[at]?.querySelector("b") ?? null, type, more)).defaultPrevented;
  const story = [
    await isPrevented(0, "keydown", { key: "a" }),
    await isPrevented(0, "keydown", { key: "Enter" }),
    await isPrevented(1, "keydown", { key: " " }),
    await isPrevented(2, "click"),
    await isPrevented(2, "click"),
  ];
  expect(story).toEqual([false, true, true, true, false]);
  expect(all.map((each) => each.outerHTML)).toEqual(
    all.map(() => '<span tabindex="0" class="spoiler shown"><b>words</b></span>'),
  );
});

function diagrams(source: string) {
  const body = page(
    `<div class="code"><pre><code class="language-mermaid">${source}</code></pre><button class="show-diagram" aria-expanded="false">Show the diagram</button></div>`,
  );
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const hearers = new Map<string, EventTarget>([
    ["page", new EventTarget()],
    ["system", new EventTarget()],
  ]);
  let isDark = false;
  let themed = (): void => {};
  let isWatching = false;
  const page_ = hearers.get("page") as EventTarget;
  const system = hearers.get("system") as EventTarget;
  vi.stubGlobal("addEventListener", page_.addEventListener.bind(page_));
  vi.stubGlobal("matchMedia", () => ({
    matches: isDark,
    addEventListener: system.addEventListener.bind(system),
  }));
  vi.stubGlobal(
    "MutationObserver",
    class {
      constructor(act: () => void) {
        themed = act;
      }
      observe(_of: unknown, options: object): void {
        isWatching = JSON.stringify(options) === '{"attributes":true,"attributeFilter":["data-theme"]}';
      }
      disconnect(): void {
        isWatching = false;
      }
    },
  );
  const button = body.querySelector("button") as HTMLElement;
  toggleDiagram(button);
  const frame = body.querySelector("iframe") as HTMLIFrameElement;
  const ordered: unknown[] = [];
  const window = { postMessage: (order: object, to: string) => void ordered.push([order, to]) };
  if (frame !== null) Object.defineProperty(frame, "contentWindow", { value: window });
  return {
    body,
    button,
    frame,
    ordered,
    load: () =>
      frame.dispatchEvent(new (document.defaultView as never as { Event: typeof Event }).Event("load")),
    told: () =>
      [...body.querySelectorAll(".diagram p")].map((each) => [each.getAttribute("role"), each.textContent]),
    says: (data: unknown, source_: unknown = window) =>
      page_.dispatchEvent(Object.assign(new Event("message"), { data, source: source_ })),
    theme: (dark: boolean) => {
      isDark = dark;
      system.dispatchEvent(new Event("change"));
    },
    chosen: (theme: string) => {
      document.documentElement.dataset["theme"] = theme;
      themed();
    },
    isWatching: () => isWatching,
  };
}

test("a diagram is drawn in a frame that may only run its script, and is as high as it says, up to a limit", () => {
  const d = diagrams("graph LR");
  expect([d.button.textContent, d.button.getAttribute("aria-expanded")]).toEqual([
    "Hide the diagram",
    "true",
  ]);
  expect(["sandbox", "referrerpolicy", "src", "title"].map((name) => d.frame.getAttribute(name))).toEqual([
    "allow-scripts",
    "no-referrer",
    "./diagram.html",
    "Diagram",
  ]);
  expect(d.told()).toEqual([["status", "Drawing…"]]);
  d.load();
  const order = (isDark: boolean): unknown[] => [
    { type: "parley-diagram-draw", source: "graph LR", isDark },
    "*",
  ];
  expect(d.ordered).toEqual([order(false)]);
  // Another frame, or another word, says nothing here.
  d.says({ type: "parley-diagram-drawn", heightPx: 9 }, {});
  d.says({ type: "other" });
  d.says(null);
  expect([d.told().length, d.frame.style.height ?? ""]).toEqual([1, ""]);
  d.says({ type: "parley-diagram-drawn", heightPx: 300 });
  expect([d.told(), d.frame.style.height]).toEqual([[], "300px"]);
  d.says({ type: "parley-diagram-drawn", heightPx: 0 });
  expect(d.frame.style.height).toBe("300px");
  d.says({ type: "parley-diagram-drawn", heightPx: 4_001 });
  expect(d.frame.style.height).toBe("4000px");
  vi.advanceTimersByTime(60_000);
  expect(d.told()).toEqual([]);
  // It is drawn anew in the theme's colours: the system's, then the one that was chosen.
  d.theme(true);
  d.chosen("light");
  d.chosen("dark");
  expect(d.ordered.slice(1)).toEqual([order(true), order(false), order(true)]);
  d.says({ type: "parley-diagram-drawn", heightPx: 20 });
  // Loaded again, somebody else stands in the frame.
  d.load();
  expect(d.ordered).toHaveLength(4);
  toggleDiagram(d.button);
  expect([
    d.body.querySelector(".diagram"),
    d.button.textContent,
    d.button.getAttribute("aria-expanded"),
  ]).toEqual([null, "Show the diagram", "false"]);
  // The frame is gone, and nobody listens for it any more.
  d.theme(false);
  expect([d.ordered.length, d.isWatching()]).toEqual([4, false]);
});

test("a diagram that fails, comes late or is too long says so in its place", () => {
  const failed = diagrams("graph");
  failed.load();
  failed.says({ type: "parley-diagram-failed", why: `bad ${"x".repeat(600)}` });
  expect(failed.told()).toEqual([
    ["alert", `The diagram cannot be drawn: ${`bad ${"x".repeat(600)}`.slice(0, 500)}`],
  ]);
  expect(failed.isWatching()).toBe(false);
  const late = diagrams("graph");
  late.load();
  vi.advanceTimersByTime(14_999);
  expect(late.told()).toEqual([["status", "Drawing…"]]);
  // Another order begins the wait anew.
  late.theme(true);
  vi.advanceTimersByTime(14_999);
  expect(late.told()).toEqual([["status", "Drawing…"]]);
  vi.advanceTimersByTime(1);
  expect(late.told()).toEqual([
    ["alert", "The diagram could not be drawn in time: its source is all there is."],
  ]);
  const fits = diagrams("g".repeat(20_000));
  expect(fits.frame).not.toBe(null);
  const long = diagrams("g".repeat(20_001));
  expect([long.frame, long.told()]).toEqual([
    null,
    [["alert", "The diagram is too long to be drawn: its source is all there is."]],
  ]);
});

test("formulas are drawn where they stand, in a box of their own where they are long, and stay source where they cannot", async () => {
  const long = `x${"+x".repeat(31)}`;
  const body = page(
    '<div class="rich"><span class="math">$a^2$</span><span class="math">$$b$$</span><span class="math">\\(c\\)</span>' +
      `<span class="math">\\[d\\]</span><span class="math">$${long}$</span><span class="math">$\\frac{$</span>` +
      '<div class="code"><pre><code class="language-math">e</code></pre><button>Copy</button></div>' +
      '<pre><code class="language-math">\\frac{</code></pre></div>' +
      '<article class="draft"><div class="rich"><pre><code class="language-math">open</code></pre></div></article>' +
      '<span class="math">$no answer$</span>',
  );
  vi.stubGlobal("ShadowRoot", class {});
  vi.stubGlobal("Document", class {});
  vi.stubGlobal(
    "CSSStyleSheet",
    class {
      replaceSync(): void {}
    },
  );
  // What draws formulas asks once for it.
  Object.assign(document, { compatMode: "CSS1Compat" });
  let again = 0;
  const dress = async (): Promise<void> => {
    dressMath(body, () => (again += 1));
    await vi.waitFor(() => expect(again).toBeGreaterThan(0));
    dressMath(body, () => (again += 1));
    await settled();
  };
  await dress();
  const seen = [...body.querySelectorAll(".rich > .math")].map((each) => [
    each.localName,
    each.getAttribute("class"),
    each.getAttribute("tabindex"),
    each.querySelector("math")?.textContent ?? each.textContent,
  ]);
  expect(seen).toEqual([
    ["span", "math dressed drawn", null, "a2"],
    ["span", "math dressed drawn display wide", "0", "b"],
    ["span", "math dressed drawn", null, "c"],
    ["span", "math dressed drawn display wide", "0", "d"],
    ["span", "math dressed drawn wide", "0", expect.stringMatching(/^x\+/)],
    ["span", "math dressed source", null, "$\\frac{$"],
    ["div", "math dressed drawn display wide", "0", "e"],
  ]);
  expect([...body.querySelectorAll("code")].map((each) => each.outerHTML)).toEqual([
    '<code class="language-math dressed">\\frac{</code>',
    // The fence that a draft ends in is not closed yet.
    '<code class="language-math">open</code>',
  ]);
  expect(body.querySelector(".math:not(.dressed)")?.textContent).toBe("$no answer$");
});

test("a formula in running text is wide from one sign too many on; many are drawn over several frames", async () => {
  const sixty = `y${"+y".repeat(29)}z`;
  const large = (at: number): string => `${at}+${"x".repeat(498)}`;
  const body = page(
    `<div class="rich"><span class="math">$${sixty}$</span><span class="math">$${sixty}z$</span></div>` +
      `<div class="rich many">${Array.from({ length: 8 }, (_, at) => `<span class="math">$${large(at)}$</span>`).join("")}</div>`,
  );
  expect(sixty).toHaveLength(60);
  vi.stubGlobal("ShadowRoot", class {});
  vi.stubGlobal("Document", class {});
  vi.stubGlobal(
    "CSSStyleSheet",
    class {
      replaceSync(): void {}
    },
  );
  Object.assign(document, { compatMode: "CSS1Compat" });
  const frames: (() => void)[] = [];
  vi.stubGlobal("requestAnimationFrame", (act: () => void) => frames.push(act));
  const { drawFormulas } = await import("../../src/view/rich-text/formula.ts");
  const all = [...body.querySelectorAll<HTMLElement>(".math")];
  drawFormulas(all.slice(0, 2), () => {});
  expect(all.slice(0, 2).map((each) => each.getAttribute("class"))).toEqual([
    "math dressed drawn",
    "math dressed drawn wide",
  ]);
  let again = 0;
  drawFormulas(all.slice(2), () => (again += 1));
  const drawn = (): number => body.querySelectorAll(".many .drawn").length;
  expect([drawn(), frames.length]).toEqual([7, 1]);
  for (const act of frames.splice(0)) act();
  expect(again).toBe(1);
  drawFormulas(all.slice(9), () => {});
  expect([drawn(), frames.length]).toEqual([8, 0]);
  // What was drawn once is there at once, and as often as it stands.
  const copy = all[2]?.cloneNode(false) as HTMLElement;
  copy.textContent = `$${large(0)}$`;
  body.append(copy);
  drawFormulas([copy], () => {});
  expect([copy.querySelectorAll("math").length, all[2]?.querySelectorAll("math").length]).toEqual([1, 1]);
});

function drawnWith(sources: readonly string[]) {
  const body = page("");
  vi.stubGlobal("ShadowRoot", class {});
  vi.stubGlobal("Document", class {});
  vi.stubGlobal(
    "CSSStyleSheet",
    class {
      replaceSync(): void {}
    },
  );
  Object.assign(document, { compatMode: "CSS1Compat" });
  return sources.map((source) => {
    const place = document.createElement("span");
    place.className = "math";
    place.textContent = source;
    body.append(place);
    return place;
  });
}

test("what formulas are made of is what may stand there, with looks that reach for nothing", async () => {
  const { drawFormulas } = await import("../../src/view/rich-text/formula.ts");
  const r = String.raw;
  const sources = [
    r`$\frac{a}{b_1} + \sqrt[3]{x^2} \le y$`,
    r`$$\sum_{i=0}^n \binom{n}{i} \mathbb{R} \mathrm{d}x$$`,
    r`$$\begin{pmatrix} a & b \\ c & d \end{pmatrix}$$`,
    r`$$\begin{aligned} x &= 1 \\ y &= 2 \end{aligned} \tag{1}$$`,
    r`$\cancel{y} \boxed{z} \overline{w} \hat{x} \vec v$`,
    r`$\color{#ff0000}{a} \textcolor{red}{b} \colorbox{yellow}{c}$`,
    r`$\Large x \, \text{ and } \rule{2em}{1em} \hspace{3em} \phantom{q}$`,
    r`$\left( \frac12 \right] \underbrace{a+b}_{n} \xrightarrow{f} {}_1^2\mathrm{X}$`,
  ];
  const places = drawnWith(sources);
  drawFormulas(places, () => {});
  const lines = places.map((place, at) => `${sources[at]}\n${place.outerHTML}\n`);
  await expect(lines.join("\n")).toMatchFileSnapshot("shown/formulas.txt");
});

test("a formula that is too large or too deep to be drawn stays source", async () => {
  const { drawFormulas } = await import("../../src/view/rich-text/formula.ts");
  const deep = (times: number): string => `$${String.raw`\sqrt{`.repeat(times)}x${"}".repeat(times)}$`;
  const flat = (times: number): string => `$${"x".repeat(times)}$`;
  const classes = (sources: readonly string[]): readonly string[] =>
    drawnWith(sources).map((place) => {
      drawFormulas([place], () => {});
      return place.className.split(" ")[2] ?? "";
    });
  expect(classes([57, 58].map(deep))).toEqual(["drawn", "source"]);
  expect(classes([2_498, 2_499].map(flat))).toEqual(["drawn", "source"]);
});
