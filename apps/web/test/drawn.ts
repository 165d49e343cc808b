// Draws what lit's templates say into a document without a browser, with the properties that are set and whoever
// hears an event, so that a test can press, type and go with keys as a person does. Lit itself draws into the
// document that was there when it was loaded, and in Node there is none. What a browser alone knows (layout,
// dialogs, popovers) a test gives to the elements that need it.
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

/** What a directive of lit stands for: repeat, guard, keyed, live, unsafeHTML. */
function meant(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("_$litDirective$" in value)) return value;
  const [first, second, third] = (value as unknown as { readonly values: readonly unknown[] }).values;
  if (typeof third === "function")
    return [...(first as readonly unknown[])].map((each, at) =>
      (third as (one: unknown, at: number) => unknown)(each, at),
    );
  if (typeof second === "function") return (second as () => unknown)();
  return second === undefined ? { raw: first } : second;
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

const plain = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

function markupOf(given: unknown, bound: Bound[]): string {
  const value = meant(given);
  if (value === nothing || value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map((each) => markupOf(each, bound)).join("");
  if (typeof value === "object" && "raw" in value) return String(value.raw);
  if (!isTemplate(value)) return escaped(plain(value));
  return value.strings.reduce((markup, string, at) => {
    const part = value.values[at - 1];
    const isInTag = markup.lastIndexOf("<") > markup.lastIndexOf(">");
    return (isInTag ? inTag(markup, part, bound) : markup + markupOf(part, bound)) + string;
  });
}

function inTag(markup: string, given: unknown, bound: Bound[]): string {
  const directed = meant(given);
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
  place.innerHTML = markupOf(view, bound);
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
