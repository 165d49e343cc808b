// Shows a page of the console as lines of text, without a browser: lit's templates are walked, lists are
// drawn as tables, and buttons can be pressed. What a browser alone knows (focus, scrolling, styles) is not
// seen here.
import {
  scopes,
  type Clock,
  type Ids,
  type MethodName,
  type MethodParams,
  type MethodResult,
  type Scope,
} from "@parley/protocol";
import { parseHTML } from "linkedom";
import { nothing, ReactiveElement, type PropertyValues, type TemplateResult } from "lit";
import { onTestFinished, vi } from "vitest";
import type { Act } from "../../src/parts/act.ts";
import { readAddress } from "../../src/parts/address.ts";
import type { Console } from "../../src/parts/console.ts";
import { icon, type IconName } from "../../src/parts/icons.ts";
import { List, type ListParts } from "../../src/parts/list.ts";
import type { MenuItem } from "../../src/parts/menu.ts";
import type { Page } from "../../src/parts/page.ts";
import { places } from "../../src/parts/places.ts";
import { RequestFailure } from "../../src/session/link.ts";
import { emptyChat } from "../../src/session/state.ts";
import { ChildTree } from "../../src/view/child-tree.ts";
import { draw, fire } from "../drawn.ts";
import { memoryStorage } from "../fake-gateway.ts";

/** The middle of a day, so that fixtures read easily. */
export const nowMs = Date.UTC(2026, 0, 5, 12, 0, 0);

type Answers = {
  readonly [M in MethodName]?: MethodResult<M> | ((params: MethodParams<M>) => MethodResult<M>);
};

export interface ShownPage {
  /** What was asked of the gateway: the method and its parameters. */
  readonly asked: string[];
  /** Where the page wanted to go. */
  readonly went: string[];
  readonly storage: Storage;
  /** Its lines as they are now, with what was asked meanwhile already there. */
  text(): Promise<string>;
  /** What the filter of its list searches, row by row. */
  searched(): Promise<readonly string[]>;
  /** Turns to another address. */
  go(address: string): Promise<string>;
  /** Presses a button of `act` and says what it told; `nth`: where several are called so. */
  press(label: string, nth?: number): Promise<string | undefined>;
  /** Sends the form that has this button. */
  submit(button: string, values: { readonly [name: string]: string }): Promise<string>;
  /** Writes into the field with this id and leaves it. */
  fill(id: string, value: string): Promise<string>;
  /** Drawn into a document of its own. */
  view(): Promise<Element>;
  /** Changes a control of the page or beside its list: `to` is what it then is, `type` what it tells. */
  change(selector: string, to: object, type?: string): Promise<string>;
  /** Writes into the filter of its list. */
  filter(words: string): Promise<void>;
  /** Turns away from the page, which stays as it is. */
  leave(): void;
  comeBack(): void;
  /** Lets time pass: what is due then is run. */
  pass(ms: number): Promise<string>;
  /** What the gateway says when it refuses. */
  refusal(code: "unavailable" | "invalid" | "closed", message: string): Error;
  /** The gateway tells an event. */
  tell(event: string, payload: object): void;
}

/** One part of a file of shown pages: `@` stands before what a screen reader is told of a block. */
export function section(name: string, text: string): string {
  return `=== ${name}\n${withMarks(text)}\n`;
}

/** Kinds of pages as elements with a name of their own: other tests give names to the same kinds. */
const named = new Map<new () => Page, new () => Page>();

export async function showPage(
  Kind: new () => Page,
  parts: {
    readonly at: string;
    readonly answers: Answers;
    readonly may?: readonly Scope[];
    readonly has?: (page: string) => boolean;
    /** As whom this browser talks. */
    readonly peer?: string;
    /** Of an earlier visit. */
    readonly storage?: Storage;
  },
): Promise<ShownPage> {
  vi.stubGlobal("document", { visibilityState: "visible" });
  const clock = stoppedClock();
  const [asked, went] = [[] as string[], [] as string[]];
  const may = parts.may ?? scopes;
  const storage = parts.storage ?? memoryStorage();
  const hearers = new Map<string, ((payload: never) => void)[]>();
  const call = async (method: MethodName, params: object): Promise<unknown> => {
    asked.push(`${method} ${JSON.stringify(params)}`);
    const answer = parts.answers[method] as unknown;
    if (answer === undefined)
      throw new RequestFailure({ code: "unavailable", message: `${method} is not there` });
    return typeof answer === "function" ? (answer as (of: object) => unknown)(params) : answer;
  };
  const console: Console = {
    clock,
    ids: countedIds(),
    storage,
    session: { line: { peer: parts.peer ?? "peer-of-this-browser" } } as Console["session"],
    chat: { ...emptyChat, connection: { kind: "online" } },
    call: call as Console["call"],
    on(event, hear) {
      hearers.set(event, [...(hearers.get(event) ?? []), hear as never]);
      return () => void hearers.delete(event);
    },
    onChange: () => () => {},
    may: (scope) => may.includes(scope),
    has: parts.has ?? (() => true),
    go: (address) => void went.push(address),
  };
  const Named = named.get(Kind) ?? class extends (Kind as new () => Page) {};
  if (!named.has(Kind)) customElements.define(`shown-page-${named.size}`, Named as never);
  named.set(Kind, Named);
  const page = new Named() as Page & { render(): TemplateResult };
  // Nothing is drawn into a document, and nothing is looked up there.
  Object.assign(page, {
    console,
    querySelector: () => null,
    update: (changed: PropertyValues) => ReactiveElement.prototype["update"].call(page, changed),
  });
  page.address = readAddress(parts.at);
  page.connectedCallback();
  onTestFinished(() => {
    page.disconnectedCallback();
    vi.unstubAllGlobals();
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 3; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
  };
  const view = async (): Promise<Element> => {
    await settle();
    const { document: drawing } = parseHTML("<html><body></body></html>");
    const place = drawing.body as unknown as Element;
    draw(page.render(), place, page);
    for (const list of place.querySelectorAll("parley-list"))
      draw((list as unknown as { readonly parts: ListParts<unknown> }).parts.tools, list, page);
    return place;
  };
  return {
    asked,
    went,
    storage,
    async text() {
      await settle();
      return linesOf(page.render());
    },
    async searched() {
      await settle();
      return listsOf(page.render()).flatMap(({ rows, textOf }) => rows.map((row) => textOf?.(row) ?? ""));
    },
    async go(address) {
      page.address = readAddress(address);
      page.requestUpdate();
      await settle();
      return linesOf(page.render());
    },
    async press(label, nth) {
      await settle();
      const found = actsOf(page.render()).filter((each) => each.label === label);
      if (nth === undefined ? found.length !== 1 : found.length <= nth)
        throw new Error(`${found.length} buttons are called ${label}`);
      const told = await found[nth ?? 0]?.run();
      await settle();
      return told;
    },
    async submit(button, values) {
      await settle();
      const form = formsOf(page.render()).find((each) => each.submit === button);
      if (form === undefined) throw new Error(`no form has the button ${button}`);
      form.send(values);
      await settle();
      return linesOf(page.render());
    },
    async fill(id, value) {
      await settle();
      const field = templatesOf(page.render()).find(({ values }) => values[0] === id);
      const change = field?.values.at(-1);
      if (typeof change !== "function") throw new Error(`no field is ${id}`);
      change({ target: { value } });
      await settle();
      return linesOf(page.render());
    },
    async filter(words) {
      await settle();
      for (const { onFilter } of listsOf(page.render())) onFilter?.(words);
    },
    leave: () => page.disconnectedCallback(),
    comeBack: () => page.connectedCallback(),
    view,
    async change(selector, to, type = "change") {
      const found = (await view()).querySelectorAll(selector);
      if (found.length !== 1) throw new Error(`${found.length} controls are ${selector}`);
      for (const [name, value] of Object.entries(to))
        Object.defineProperty(found[0], name, { value, configurable: true });
      await fire(found[0] ?? null, type);
      await settle();
      return linesOf(page.render());
    },
    async pass(ms) {
      clock.pass(ms);
      await settle();
      return linesOf(page.render());
    },
    refusal: (code, message) => new RequestFailure({ code, message }),
    tell: (event, payload) => hearers.get(event)?.forEach((hear) => hear(payload as never)),
  };
}

/** The buttons that a page has for a token with this scope beside `read`. */
export async function offeredTo(
  scope: Scope,
  ...[Kind, parts]: Parameters<typeof showPage>
): Promise<readonly string[]> {
  const text = await (await showPage(Kind, { ...parts, may: ["read", scope] })).text();
  return [...text.matchAll(/\[(?!copy )([^|\]]+?)(?: \|[^\]]*)?\]/g)].map(([, label = ""]) => label);
}

/** A clock that a test moves; the timers that are due then run in their order. */
export function stoppedClock(): Clock & { pass(ms: number): void } {
  let now = nowMs;
  const timers = new Set<{ readonly atMs: number; readonly run: () => void }>();
  return {
    now: () => now,
    mono: () => now - nowMs,
    after(afterMs, run) {
      const timer = { atMs: now + afterMs, run };
      timers.add(timer);
      return { cancel: () => void timers.delete(timer) };
    },
    pass(ms) {
      now += ms;
      const due = [...timers].filter(({ atMs }) => atMs <= now).toSorted((a, b) => a.atMs - b.atMs);
      for (const timer of due) if (timers.delete(timer)) timer.run();
    },
  };
}

function countedIds(): Ids {
  let count = 0;
  return { uuid: () => `uuid-${(count += 1)}`, code: () => `code-${(count += 1)}`, chance: () => 0.5 };
}

interface Template {
  readonly strings: readonly string[];
  readonly values: readonly unknown[];
}
type Acting = Pick<Act, "label" | "look" | "confirm" | "hint" | "run">;

function isTemplate(value: unknown): value is Template {
  return typeof value === "object" && value !== null && "_$litType$" in value;
}

/** What a directive of lit stands for, by how it is called: repeat, guard, keyed, unsafeHTML. */
function meant(values: readonly unknown[]): unknown {
  const [first, second, third] = values;
  if (typeof third === "function" && typeof second === "function")
    return [...(first as readonly unknown[])].map((each, at) =>
      (third as (one: unknown, at: number) => unknown)(each, at),
    );
  if (typeof second === "function") return (second as () => unknown)();
  return values.length === 1 ? { markup: first } : second;
}

function children(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (isTemplate(value)) return value.values;
  if (typeof value === "object" && value !== null && "_$litDirective$" in value)
    return [meant((value as unknown as { values: readonly unknown[] }).values)];
  return [];
}

/** Of lit's `keyed`. */
function keyOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || !("_$litDirective$" in value)) return undefined;
  const [key, view, more] = (value as unknown as { readonly values: readonly unknown[] }).values;
  return typeof key === "string" && isTemplate(view) && more === undefined ? key : undefined;
}

function actsOf(value: unknown): readonly Acting[] {
  if (isTemplate(value) && value.strings[0]?.startsWith("<parley-act")) return [actOf(value)];
  if (isTemplate(value) && value.strings[0]?.startsWith("<parley-list"))
    return actsOf((value.values[0] as ListParts<unknown>).tools);
  return children(value).flatMap(actsOf);
}

/** Those of controls, which hear what is written into them. */
function templatesOf(value: unknown): readonly Template[] {
  if (isTemplate(value) && value.strings.at(-2)?.trimEnd().endsWith("@change=") === true) return [value];
  return children(value).flatMap(templatesOf);
}

function listsOf(value: unknown): readonly ListParts<unknown>[] {
  if (isTemplate(value) && value.strings[0]?.startsWith("<parley-list"))
    return [value.values[0] as ListParts<unknown>];
  return children(value).flatMap(listsOf);
}

function actOf({ values }: Template): Acting {
  const [label, look, confirm, hint, run] = values;
  return { label, look, confirm, hint, run } as Acting;
}

function formsOf(
  value: unknown,
): readonly { readonly submit: string; send(values: { readonly [name: string]: string }): void }[] {
  if (isTemplate(value) && value.strings[0]?.startsWith('<form class="form"')) {
    const send = value.values[0] as (event: object) => void;
    return [
      {
        submit: String(value.values.at(-1)),
        send(values) {
          vi.stubGlobal(
            "FormData",
            class extends Map<string, string> {
              constructor() {
                super(Object.entries(values));
              }
            },
          );
          send({ preventDefault() {}, target: null });
        },
      },
    ];
  }
  return children(value).flatMap(formsOf);
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

function plainWords(value: unknown): string {
  return typeof value === "string" ? value : typeof value === "function" ? "()" : JSON.stringify(value);
}

/** The markup of a template, with lists and buttons drawn. */
function markupOf(value: unknown): string {
  if (value === nothing || value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map(markupOf).join("");
  if (typeof value === "object" && "markup" in value) return String(value.markup);
  if (!isTemplate(value)) {
    const inner = children(value);
    // What is asked of one object is never answered for another: its key says whose it is.
    const key = keyOf(value);
    if (key !== undefined) return `\u2039of ${escaped(key)}\u203a ${inner.map(markupOf).join("")}`;
    return typeof value === "object" && inner.length > 0
      ? inner.map(markupOf).join("")
      : escaped(plainWords(value));
  }
  const [first = ""] = value.strings;
  if (first.startsWith("<parley-act")) {
    const { label, look, confirm, hint } = actOf(value);
    const marks = [look, hint === undefined ? "" : `key ${hint}`, confirm ?? ""].filter(
      (mark) => mark !== "",
    );
    return `<span>[${escaped([label, ...marks].join(" | "))}]</span>`;
  }
  if (first.startsWith("<parley-list")) {
    const list = new List();
    list.parts = value.values[0] as ListParts<unknown>;
    const { rows, textOf } = list.parts;
    const searched =
      textOf === undefined ? "" : rows.map((row) => `<p>searched: ${escaped(textOf(row))}</p>`).join("");
    return markupOf(list.render()) + searched;
  }
  if (first.startsWith("<parley-menu")) {
    const [label, items] = value.values as [string, () => readonly MenuItem[]];
    const names = items().map(({ name, means, icon: drawing, look }) =>
      [
        ...(drawing === undefined ? [] : [`\u2039${drawing}\u203a`]),
        name,
        ...(means === undefined ? [] : [`(${means})`]),
        ...(look === undefined ? [] : [`[${look}]`]),
      ].join(" "),
    );
    return `<p>menu ${escaped(`${label}: ${names.join(" | ")}`)}</p>`;
  }
  if (first.startsWith("<parley-child-tree")) {
    const [tree, nowMs_, hrefOf] = value.values;
    return markupOf(Object.assign(new ChildTree(), { tree, nowMs: nowMs_, hrefOf }).render());
  }
  return value.strings.reduce((markup, string, at) => {
    const value_ = value.values[at - 1];
    const isInTag = markup.lastIndexOf("<") > markup.lastIndexOf(">");
    return markup + (isInTag ? attribute(markup, value_) : markupOf(value_)) + string;
  });
}

/** The value of an attribute; what is left out has none, and what hears events is not shown. */
function attribute(before: string, value: unknown): string {
  const [, name = ""] = /\s([.@?]?[\w-]+)=$/.exec(before) ?? [];
  if (name.startsWith("@")) return '""';
  if (name.startsWith("?")) return value === true ? '"yes"' : '"no"';
  const isQuoted = name === "";
  const words = value === nothing ? "(none)" : escaped(plainWords(value));
  return isQuoted ? words : `"${words}"`;
}

const inline = new Set([
  "a",
  "b",
  "bdi",
  "button",
  "code",
  "i",
  "kbd",
  "mark",
  "span",
  "time",
  "label",
  "td",
  "th",
  "dd",
  "svg",
  "rect",
  "path",
  "title",
  "g",
  "option",
]);

/** One line for each block: links with their address, badges with their look, fields with what they hold. */
export function linesOf(template: unknown): string {
  const lines: string[] = [];
  const marked: string[] = [];
  let line = "";
  // Of a block without words of its own, they stand before the first ones in it.
  let marks = "";
  const end = (): void => {
    const words = line.replaceAll(/\s+/g, " ").trim();
    const bare = bareOf(words);
    if (bare !== "") {
      lines.push(bare);
      marked.push(`${marks}${words}`);
      marks = "";
    } else marks += (words.match(pictured) ?? []).map((each) => `${each} `).join("");
    line = "";
  };
  const open: { readonly name: string; readonly after: string; readonly from: number }[] = [];
  for (const [, close, name = "", attributes = "", text] of markupOf(template).matchAll(
    /<(\/?)([\w-]+)((?:"[^"]*"|[^>"])*)>|([^<]+)/g,
  )) {
    if (text !== undefined) {
      line += plain(text);
      continue;
    }
    if (!inline.has(name) && !(close === "/" && name === "dt")) end();
    if (close === "/") {
      const last = open.findLastIndex((each) => each.name === name);
      const [one] = last === -1 ? [] : open.splice(last);
      line += one?.after ?? "";
      continue;
    }
    const of = (attr: string): string | undefined => {
      const found = new RegExp(`(?:^|\\s)[.?]?${attr}=(?:"([^"]*)"|(\\S+))`).exec(attributes);
      const words = found?.[1] ?? found?.[2];
      return words === undefined || words === "(none)" ? undefined : plain(words);
    };
    // Every id that can be copied tells so at the same place.
    if (of("class") !== "copied") marks += toldOf(of);
    // Other parts are named where they stand.
    if (name === "div" && of("aria-label") !== undefined) marks += `«${of("aria-label")}» `;
    const [before, after] = drawn(name, of);
    const label = name === "aside" || name === "div" ? undefined : of("aria-label");
    line += label === undefined ? before : `«${label}» ${before}`;
    if (!voids.has(name) && !attributes.endsWith("/")) open.push({ name, after, from: line.length });
    else line += after;
  }
  end();
  const [text, withMarks] = [lines, marked].map(
    (each) =>
      `${each
        .join("\n")
        .replaceAll(/\[copy (.*?), copy =(.*?)\]/g, copied)
        .replaceAll(localTime, "")}\n`,
  ) as [string, string];
  shown.delete(text);
  shown.set(text, withMarks);
  return text;
}

/** What was drawn, and the same with what one does not see of it: the newest last. */
const shown = new Map<string, string>();

/** The same lines with what one does not see of them. */
export function withMarks(text: string): string {
  const whole = [...shown.keys()].findLast((each) => each === text || each.endsWith(`\n${text}`));
  const lines = text.split("\n").length;
  return whole === undefined ? text : (shown.get(whole) ?? "").split("\n").slice(-lines).join("\n");
}

/** An icon, or whose a part of the page is. */
const pictured = /\u2039[^\u203a]*\u203a/g;

/** Without the marks that stand between words. */
const bareOf = (words: string): string =>
  words
    .replaceAll(pictured, "")
    .replaceAll(/[\u27e8\u27e9]/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();

const iconNames: readonly IconName[] = [
  ...places.map(({ name }) => name),
  "search",
  "plus",
  "pin",
  "pen",
  "clip",
  "list",
  "canvas",
  "mic",
  "more",
  "save",
  "away",
  "close",
];
const iconOf = new Map(iconNames.map((name) => [String(icon(name).values[0]), name]));

/** An id that a press copies, with what of it is shown where it is cut. */
function copied(_: string, seen: string, whole: string): string {
  const bare = bareOf(seen);
  return bare === whole ? `[copy ${whole}]` : `[copy ${whole}, shown ${bare}]`;
}

/** Told in the reader's own zone; the instant stands behind it. */
const localTime = /\b\d{1,2}:\d\d(?::\d\d)?(?:\s[AP]M)?(?=\{)/g;

const voids = new Set(["input", "br"]);
const plain = (text: string): string =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");

/** What a screen reader, a keyboard and a browser are told of an element, beside its name. */
const told = [
  "autocomplete",
  "dir",
  "enterkeyhint",
  "max",
  "maxlength",
  "min",
  "placeholder",
  "rel",
  "spellcheck",
  "step",
  "target",
  ...["atomic", "checked", "disabled", "expanded", "haspopup", "invalid", "level", "live"].map(
    (name) => `aria-${name}`,
  ),
  ...["posinset", "pressed", "relevant", "selected", "setsize"].map((name) => `aria-${name}`),
];

function toldOf(of: (attribute: string) => string | undefined): string {
  const role = of("role");
  const marks = told.flatMap((name) => {
    const value = of(name);
    return value === undefined ? [] : [`@${name.replace(/^aria-/, "")}=${value} `];
  });
  const tab = of("tabindex");
  return `${role === undefined ? "" : `@${role} `}${tab === undefined ? "" : `@tab${tab} `}${marks.join("")}`;
}

function drawn(name: string, of: (attribute: string) => string | undefined): readonly [string, string] {
  const kind = of("class")?.split(/\s+/).filter(Boolean) ?? [];
  if (/^h[123]$/.test(name)) return [`${"#".repeat(Number(name[1]))} `, ""];
  if (kind.includes("badge"))
    return [`(${kind.filter((each) => each !== "badge" && each !== "end").join(" ")}: `, ")"];
  if (name === "a")
    return [
      "",
      `<${of("href") ?? ""}>${of("aria-current") === "true" || of("aria-current") === "page" ? "*" : ""}`,
    ];
  if (name === "time") return ["", `{${(of("datetime") ?? "").replace(/^2026-|:00\.000Z$/g, "")}}`];
  if (kind.includes("copyable")) return ["[copy ", `=${of("title") ?? ""}]`];
  // Text of its own direction, which turns nothing around that stands beside it.
  if (name === "bdi") return ["\u27e8", "\u27e9"];
  if (name === "path") {
    const drawing = iconOf.get(of("d") ?? "");
    return [drawing === undefined ? "" : `\u2039${drawing}\u203a `, ""];
  }
  if (name === "button") return [`[${of("disabled") === "yes" ? "off: " : ""}`, "]"];
  if (name === "option")
    return [
      `${of("selected") === "yes" ? " >" : " "}${of("label") ?? ""}`,
      of("value") === undefined ? "" : `=${of("value")}`,
    ];
  if (name === "input" || name === "textarea") {
    const value = of("value") ?? of("defaultValue") ?? "";
    const is = (mark: string): string | undefined =>
      /^(?:yes|true)$/.test(of(mark) ?? "") ? mark : undefined;
    const marks = [of("type"), ...["checked", "required", "disabled", "readonly"].map(is)];
    return [`_${of("name") ?? ""}=${value}_${marks.filter((mark) => mark !== undefined).join(" ")}`, ""];
  }
  // A column that a phone leaves out, and one of numbers.
  if (name === "th")
    return [" | ", `${kind.includes("wide-only") ? "~" : ""}${kind.includes("numeric") ? "#" : ""}`];
  if (name === "td" || name === "dd") return [" | ", ""];
  if (name === "dt") return ["", ":"];
  if (name === "li") return [`- ${kind.length === 0 ? "" : `(${kind.join(" ")}) `}`, ""];
  if (name === "rect" && of("width") !== undefined) return [` <bar ${of("width")} x ${of("height")}>`, ""];
  if (name === "p" && (kind.includes("trouble") || kind.includes("wrong"))) return ["! ", ""];
  return ["", ""];
}
