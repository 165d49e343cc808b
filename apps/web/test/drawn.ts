// Draws what lit's templates say into a document without a browser, with the properties that are set and
// whoever hears an event, so that a test can press, type and go with keys as a person does. Lit itself draws
// into the document that was there when it was loaded, and in Node there is none. What a browser alone knows
// (layout, dialogs, popovers) a test gives to the elements that need it.
import { parseHTML } from "linkedom";
import { nothing, ReactiveElement, type PropertyValues } from "lit";
import { onTestFinished, vi } from "vitest";

interface Template {
  readonly strings: readonly string[];
  readonly values: readonly unknown[];
}

/** A property that is set, or what hears an event. */
type Bound = readonly [name: string, value: unknown];

const isTemplate = (value: unknown): value is Template =>
  typeof value === "object" && value !== null && "_$litType$" in value;

/** What stands at a place, by what it was made of: lit draws it again when that is other. */
interface Guarded {
  readonly of: unknown;
  readonly view: unknown;
}

interface Drawing {
  readonly bound: Bound[];
  /** By where they stand. */
  readonly guards: Map<string, Guarded>;
}

const guardsOf = new WeakMap<Element, Map<string, Guarded>>();
const kinds = new Map<readonly string[], number>();

/** Another template at a place begins anew there. */
function kindOf({ strings }: Template): number {
  const kind = kinds.get(strings) ?? kinds.size;
  kinds.set(strings, kind);
  return kind;
}

function isSame(before: unknown, now: unknown): boolean {
  if (!Array.isArray(before) || !Array.isArray(now)) return before === now;
  return before.length === now.length && now.every((each, at) => each === before[at]);
}

/** What a directive of lit stands for: repeat, guard, keyed, live, unsafeHTML. */
function meant(value: unknown, path: string, { guards }: Drawing): unknown {
  if (typeof value !== "object" || value === null || !("_$litDirective$" in value)) return value;
  const [first, second, third] = (value as unknown as { readonly values: readonly unknown[] }).values;
  if (typeof third === "function" && typeof second === "function") {
    const [keyOf, viewOf] = [second, third] as ((one: unknown, at: number) => unknown)[];
    return {
      keyed: [...(first as readonly unknown[])].map(
        (each, at) => [keyOf?.(each, at), viewOf?.(each, at)] as const,
      ),
    };
  }
  if (typeof second === "function") {
    const known = guards.get(path);
    if (known !== undefined && isSame(known.of, first)) return known.view;
    const view = (second as () => unknown)();
    guards.set(path, { of: Array.isArray(first) ? [...(first as unknown[])] : first, view });
    return view;
  }
  return second === undefined ? { raw: first } : second;
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

const plain = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

function markupOf(given: unknown, path: string, drawing: Drawing): string {
  const value = meant(given, path, drawing);
  if (value === nothing || value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map((each, at) => markupOf(each, `${path}.${at}`, drawing)).join("");
  if (typeof value === "object" && "raw" in value) return String(value.raw);
  if (typeof value === "object" && "keyed" in value)
    return (value.keyed as readonly (readonly [unknown, unknown])[])
      .map(([key, view]) => markupOf(view, `${path}:${String(key)}`, drawing))
      .join("");
  if (!isTemplate(value)) return escaped(plain(value));
  const own = `${path}/${kindOf(value)}`;
  return value.strings.reduce((markup, string, at) => {
    const part = value.values[at - 1];
    const isInTag = markup.lastIndexOf("<") > markup.lastIndexOf(">");
    const place = `${own}.${at}`;
    return (isInTag ? inTag(markup, part, place, drawing) : markup + markupOf(part, place, drawing)) + string;
  });
}

function inTag(markup: string, given: unknown, path: string, drawing: Drawing): string {
  const { bound } = drawing;
  const directed = meant(given, path, drawing);
  const value =
    typeof directed === "object" && directed !== null && "raw" in directed ? directed.raw : directed;
  const [whole, name = ""] = /\s([.@?]?[\w-]+)=$/.exec(markup) ?? [];
  if (whole === undefined) return markup + escaped(plain(value));
  const before = markup.slice(0, -whole.length);
  if (value === nothing) return before;
  if (name.startsWith("?")) return value === true ? `${before} ${name.slice(1)}=""` : before;
  if (/^[.@]/.test(name)) return `${before} data-bound-${bound.push([name, value]) - 1}=""`;
  return `${before} ${name}="${escaped(plain(value))}"`;
}

/** A document of its own, which the page's parts take for theirs while the test runs. */
export function browser(): Document & Window {
  const { window, document } = parseHTML("<!doctype html><html><body></body></html>");
  for (const name of ["Element", "HTMLElement", "Node"] as const)
    vi.stubGlobal(name, (window as unknown as { readonly [name: string]: unknown })[name]);
  vi.stubGlobal("KeyboardEvent", class extends window.Event {});
  vi.stubGlobal("document", document);
  vi.stubGlobal("CSS", { escape: (text: string) => text.replaceAll(/[^\w-]/g, (sign) => `\\${sign}`) });
  onTestFinished(() => void vi.unstubAllGlobals());
  let active: Element = document.body;
  const tell = (of: Element, type: string, relatedTarget: Element): void => {
    const event = new window.Event(type, { bubbles: type.length > 5 });
    of.dispatchEvent(Object.assign(event, { relatedTarget }) as unknown as Event);
  };
  const turn = (to: Element): void => {
    const before = active;
    if (before === to) return;
    active = to;
    // What was taken away had no focus any more.
    if (document.documentElement.contains(before))
      for (const type of ["blur", "focusout"]) tell(before, type, to);
    for (const type of ["focus", "focusin"]) tell(to, type, before);
  };
  Object.defineProperty(document, "activeElement", { get: () => active });
  Object.assign(window.HTMLElement.prototype, {
    focus(this: Element) {
      turn(this);
    },
    blur(this: Element) {
      if (active === this) turn(document.body);
    },
    select(this: Element) {
      turn(this);
    },
    scrollIntoView() {},
  });
  return document as never;
}

/** A `select` of this document has a value that cannot be set. */
function set(element: Element, name: string, value: unknown): void {
  if (element.localName !== "select") Object.assign(element, { [name]: value });
  else Object.defineProperty(element, name, { value, writable: true, configurable: true });
}

/** Puts a view of `host` into `place`, instead of what stood there. */
export function draw(view: unknown, place: Element, host?: object): void {
  const bound: Bound[] = [];
  const guards = guardsOf.get(place) ?? new Map<string, Guarded>();
  guardsOf.set(place, guards);
  place.innerHTML = markupOf(view, "", { bound, guards });
  for (const element of place.querySelectorAll("*"))
    for (const { name } of Array.from(element.attributes)) {
      const [, at] = /^data-bound-(\d+)$/.exec(name) ?? [];
      if (at === undefined) continue;
      element.removeAttribute(name);
      const [to, value] = bound[Number(at)] ?? [""];
      if (to.startsWith("@"))
        element.addEventListener(to.slice(1), (event) => (value as EventListener).call(host as never, event));
      else set(element, to.slice(1), value);
    }
}

/** One of the page's elements, drawn anew after each of its changes. */
export function mounted<E extends ReactiveElement>(element: E, more: object = {}) {
  const place = document.createElement("div");
  document.body.append(place);
  Object.assign(element, {
    createRenderRoot: () => place,
    querySelector: (selector: string) => place.querySelector(selector),
    querySelectorAll: (selector: string) => place.querySelectorAll(selector),
    contains: (node: Node) => place.contains(node),
    update(changed: PropertyValues) {
      ReactiveElement.prototype["update"].call(element, changed);
      draw((element as unknown as { render(): unknown }).render(), place, element);
    },
    ...more,
  });
  for (const type of ["focusin", "focusout"])
    place.addEventListener(type, (event) => {
      const { relatedTarget } = event as FocusEvent;
      element.dispatchEvent(Object.assign(new Event(type), { relatedTarget }));
    });
  element.connectedCallback();
  onTestFinished(() => {
    element.disconnectedCallback();
    place.remove();
  });
  return { element, place };
}

/** Tells an element of an event; what the event says beside its name comes in `more`. */
export async function fire(target: EventTarget | null, type: string, more: object = {}): Promise<Event> {
  if (target === null) throw new Error(`nothing is there that could hear ${type}`);
  const page = (target as Partial<Element>).ownerDocument ?? document;
  const { Event: Plain } = page.defaultView as Window & typeof globalThis;
  const Kind = type.startsWith("key") ? KeyboardEvent : Plain;
  const event = Object.assign(new Kind(type, { bubbles: true, cancelable: true }), more);
  target.dispatchEvent(event);
  await settled();
  return event;
}

export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** What stands there, in one line. */
export function markup(place: Element): string {
  return place.innerHTML
    .replaceAll(/\s+/g, " ")
    .replaceAll(/> (?=<)/g, ">")
    .trim();
}

/** The one button, link or entry of this name. */
export function named(place: ParentNode, words: string): HTMLElement {
  const all = [...place.querySelectorAll<HTMLElement>("button, a, [role=menuitem], [role=option], summary")];
  const found = all.filter(
    (each) => (each.getAttribute("aria-label") ?? each.textContent.replaceAll(/\s+/g, " ").trim()) === words,
  );
  if (found.length !== 1 || found[0] === undefined)
    throw new Error(
      `${found.length} of ${all.map((each) => each.textContent.trim()).join(" | ")} are ${words}`,
    );
  return found[0];
}

/** Does now, and after each drawing, what gives new elements the ways of a browser. */
export function afterEachDrawing(made: ReactiveElement, dress: () => void): void {
  const update = made["update"].bind(made);
  Object.assign(made, {
    update(changed: PropertyValues) {
      update(changed);
      dress();
    },
  });
  dress();
}
