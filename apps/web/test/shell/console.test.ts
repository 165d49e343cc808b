// The console's frame as a person meets it: what its rail and tabs show to each token, where the keys go,
// what the palette offers, and what stands where a page belongs.
import type { Scope } from "@parley/protocol";
import { ReactiveElement, type PropertyValues } from "lit";
import { expect, onTestFinished, test, vi } from "vitest";
import { pages } from "../../src/pages/list.ts";
import type { Page } from "../../src/parts/page.ts";
import { places } from "../../src/parts/places.ts";
import { Shell } from "../../src/shell/console.ts";
import { keyHelpView, keyListener } from "../../src/shell/keys.ts";
import { loginView } from "../../src/shell/login.ts";
import type { Choice } from "../../src/shell/palette.ts";
import { railView, tabsView } from "../../src/shell/rail.ts";
import { cut, fakeLine, refusal, settle, stub } from "../device/browser.ts";
import { memoryStorage } from "../fake-gateway.ts";
import { linesOf, withMarks } from "../pages/show-page.ts";

test("the rail and the tabs of each place, by what a token may see", async () => {
  const shown = (may: readonly Scope[], connection: "online" | "offline" | "connecting"): string => {
    const allowed = pages.filter(({ scope }) => may.includes(scope));
    const tabs = places.map(({ name }) => {
      const here = allowed.filter(({ place }) => place === name);
      return withMarks(linesOf(tabsView(here, here[1] ?? here[0])));
    });
    const rail = linesOf(railView({ allowed, here: "system", connection, openPalette: () => {} }));
    return withMarks(rail) + tabs.join("");
  };
  const kinds = await Promise.all(pages.map(async ({ path, load }) => `${path}: ${(await load()).name}\n`));
  await expect(
    ["=== admin\n", shown(["read", "admin"], "online"), "=== read\n", shown(["read"], "offline")].join("") +
      ["=== none\n", shown([], "connecting"), "=== what draws each\n", ...kinds].join(""),
  ).toMatchFileSnapshot("shown/rail.txt");
});

test("the keys, as they are told, and the screen that asks for a token", async () => {
  await expect(
    [keyHelpView(), loginView(null, () => {}), loginView("it is wrong", () => {})]
      .map((view) => withMarks(linesOf(view)))
      .join(""),
  ).toMatchFileSnapshot("shown/keys-and-login.txt");
});

class Element {
  isContentEditable = false;
  readonly told: string[];
  readonly kind: string;
  ariaCurrent: string | null = null;
  constructor(told: string[], kind: string) {
    this.told = told;
    this.kind = kind;
  }
  matches(selector: string): boolean {
    const [tag] = this.kind.split(" ");
    if (this.kind === "input checkbox") return false;
    return selector.split(", ").some((each) => each.startsWith(tag ?? ""));
  }
  blur(): void {
    this.told.push(`blurs ${this.kind}`);
  }
  focus(): void {
    this.told.push(`focuses ${this.kind}`);
  }
  click(): void {
    this.told.push(`clicks ${this.kind}`);
  }
  scrollIntoView(): void {
    this.told.push(`shows ${this.kind}`);
  }
}

function keys(rowCount = 3) {
  const told: string[] = [];
  const rows = Array.from({ length: rowCount }, (_, at) => new Element(told, `row ${at}`));
  const document = { activeElement: null as Element | null };
  stub({ HTMLElement: Element, document });
  let hasDialog = false;
  const root = {
    querySelector: (selector: string) =>
      selector === "dialog[open]" ? (hasDialog ? {} : null) : new Element(told, selector),
    querySelectorAll: () => rows,
  };
  const hear = keyListener(root as never, {
    openPalette: () => void told.push("palette"),
    openHelp: () => void told.push("help"),
    goTo: (letter) => (told.push(`goes to ${letter}`), letter === "c"),
    onPage: (key) => (told.push(`page ${key}`), key === "y"),
  });
  const press = (key: string, more: object = {}, from: Element | null = null): string => {
    told.length = 0;
    let prevented = "";
    const plain = {
      metaKey: false,
      ctrlKey: false,
      altKey: false,
      isComposing: false,
      defaultPrevented: false,
    };
    const event = {
      key,
      composedPath: () => [from],
      preventDefault: () => void (prevented = " (taken)"),
      ...plain,
    };
    hear({ ...event, ...more } as never);
    return told.join(", ") + prevented;
  };
  return { press, rows, document, told, dialog: (open: boolean) => void (hasDialog = open) };
}

test("each key goes where it counts, and none is taken from somebody who writes", () => {
  const { press, dialog, told } = keys();
  const field = new Element(told, "textarea");
  const check = new Element(told, "input checkbox");
  const editable = Object.assign(new Element(told, "div"), { isContentEditable: true });
  const search = ".list-tools input[type=search]";
  expect([
    press("k", { metaKey: true }),
    press("K", { ctrlKey: true }, field),
    press("k", { ctrlKey: true, altKey: true }),
    press("?"),
    press("/"),
    press("y"),
    press("x"),
    press("g"),
    press("c"),
    press("g") + press("q"),
    press("c"),
    press("Escape"),
    press("Escape", {}, field),
    press("y", {}, field),
    press("y", {}, editable),
    press("y", {}, check),
    press("y", { ctrlKey: true }),
    press("y", { metaKey: true }),
    press("y", { altKey: true }),
    press("y", { isComposing: true }),
    press("y", { defaultPrevented: true }),
  ]).toEqual([
    "palette (taken)",
    "palette (taken)",
    "",
    "help (taken)",
    `focuses ${search} (taken)`,
    "page y (taken)",
    "page x",
    " (taken)",
    "goes to c (taken)",
    " (taken)goes to q",
    "page c",
    "clicks .drawer .close",
    "blurs textarea",
    "",
    "",
    "page y (taken)",
    "",
    "",
    "",
    "",
    "",
  ]);
  // Whoever writes between the two keys goes on from there.
  expect([press("g"), press("c", {}, field), press("c")]).toEqual([" (taken)", "", "goes to c (taken)"]);
  dialog(true);
  expect([press("y"), press("Escape"), press("k", { metaKey: true })]).toEqual(["", "", "palette (taken)"]);
});

test("j and k step over the rows and stay at either end", () => {
  const { press, rows, document } = keys();
  const at = (row: number | null, key: string): string => {
    document.activeElement = row === null ? null : (rows[row] ?? null);
    return press(key).replace(" (taken)", "");
  };
  const to = (row: number): string => `focuses row ${row}, shows row ${row}`;
  expect([at(null, "j"), at(null, "k"), at(0, "j"), at(1, "j"), at(2, "j"), at(2, "k"), at(0, "k")]).toEqual(
    [0, 2, 1, 2, 2, 1, 0].map(to),
  );
  const [, second] = rows;
  if (second !== undefined) second.ariaCurrent = "true";
  expect(at(null, "j")).toBe(to(2));
  expect(keys(0).press("j")).toBe(" (taken)");
});

class ShownShell extends Shell {}
customElements.define("shown-shell", ShownShell);
let registries = 0;

async function shell(hash: string, scopes: readonly Scope[], token: string | null = "t") {
  const storage = memoryStorage();
  const [window, document] = [new EventTarget(), new EventTarget()];
  const made: string[] = [];
  const replaced: string[] = [];
  if (token !== null) storage.setItem("parley.device-token", token);
  const location = { href: `https://h/under/${hash}`, hash, reload: () => void made.push("reloads") };
  // Pages have names of their own here: other tests give names to the same kinds.
  const [real, known] = [customElements, new Map<string, CustomElementConstructor>()];
  const registry = (registries += 1);
  stub({
    customElements: {
      get: (tag: string) => known.get(tag),
      define(tag: string, Kind: CustomElementConstructor) {
        const Own = class extends Kind {};
        known.set(tag, Own);
        real.define(`shell-${registry}-${tag}`, Own);
      },
    },
    // What Lit takes for it where there is no browser.
    HTMLElement: Object.getPrototypeOf(ReactiveElement) as object,
    localStorage: storage,
    location,
    history: { replaceState: (...of: unknown[]) => void replaced.push(String(of[2])) },
    addEventListener: window.addEventListener.bind(window),
    removeEventListener: window.removeEventListener.bind(window),
    requestAnimationFrame: () => 1,
    cancelAnimationFrame: () => {},
    document: Object.assign(document, {
      visibilityState: "visible",
      documentElement: { dataset: {} },
      title: "",
      createElement(tag: string) {
        made.push(tag);
        const Kind = customElements.get(tag) as new () => object;
        return Object.assign(new Kind(), { toJSON: () => `(${tag})` });
      },
    }),
  });
  const line = fakeLine((method) =>
    method === "connect"
      ? { seq: 0, resync: false, peer: "p", scopes, protocol: 1 }
      : method === "chat.history"
        ? { messages: [], working: false, hasEarlier: false }
        : {},
  );
  const one = new ShownShell();
  Object.assign(one, {
    querySelector: () => null,
    querySelectorAll: () => [],
    classList: { toggle: (name: string, on: boolean) => void made.push(`${name} ${on}`) },
    update: (changed: PropertyValues) => ReactiveElement.prototype["update"].call(one, changed),
  });
  one.connectedCallback();
  onTestFinished(() => one.disconnectedCallback());
  const text = (): string => {
    const drawn = one.render();
    // The palette's choices are asked for when it opens.
    const values = drawn.values.map((value) => (typeof value === "function" ? "(choices)" : value));
    return linesOf({ ...drawn, values });
  };
  return {
    one,
    line,
    made,
    replaced,
    location,
    window,
    document,
    storage,
    text,
  };
}

const until = async (wanted: () => boolean): Promise<void> => {
  for (let turn = 0; turn < 2_000 && !wanted(); turn += 1) await settle(1);
};

test("the address names the page; one that there is not, or not for this token, is unknown", async () => {
  const { one, made, location, window, text, document } = await shell("#/models", ["read"]);
  await until(() => typeof one.outlet === "object");
  expect(made.filter((each) => each.startsWith("parley-page"))).toEqual(["parley-page-models"]);
  expect((document as unknown as { title: string }).title).toBe("Models · Parley");
  const turn = async (hash: string): Promise<void> => {
    location.hash = hash;
    window.dispatchEvent(new Event("hashchange"));
    await settle();
  };
  for (const hash of ["#/logs", "#/nowhere"]) {
    await turn(hash);
    expect([one.outlet, text().slice(text().indexOf("## "))]).toEqual([
      "unknown",
      "## There is no such page here.\nIt may need a token with more rights, or the address is wrong.\n",
    ]);
  }
  await turn("#/models/x");
  expect(one.outlet).toMatchObject({ address: { page: "models", rest: ["x"] } });
  // It is the same element again.
  expect(made.filter((each) => each.startsWith("parley-page"))).toHaveLength(1);
});

test("the palette has the page's commands, every page of the token, the themes, the keys and the way out", async () => {
  const { one, storage, location } = await shell("#/models", ["read"]);
  await until(() => typeof one.outlet === "object");
  const lists = one
    .render()
    .values.filter(
      (value): value is () => readonly Choice[] => typeof value === "function" && value.length === 0,
    );
  const choices = lists.at(-1)?.() ?? [];
  const names = choices.map(({ name, keys: of }) => (of === undefined ? name : `${name} (${of})`));
  await expect(`${names.join("\n")}\n`).toMatchFileSnapshot("shown/palette.txt");
  // What the open page does stands first.
  Object.assign(one.outlet, { commands: () => [{ name: "Own", run: () => {} }] });
  expect(
    lists
      .at(-1)?.()
      .map(({ name }) => name),
  ).toEqual(["Own", ...choices.map(({ name }) => name)]);
  Object.assign(one.outlet, { commands: () => [] });
  choices.find(({ name }) => name === "Go to Dead letters")?.run();
  expect(location.hash).toBe("#/dead");
  choices.find(({ name }) => name === "Show all keys")?.run();
  expect(one.wantsHelp).toBe(true);
  choices.find(({ name }) => name === "Theme: dark")?.run();
  expect(storage.getItem("parley.theme")).toBe("dark");
  choices.at(-1)?.run();
  await settle();
  expect(storage.getItem("parley.device-token")).toBe(null);
});

test("a token that is refused shows the screen that asks for one", async () => {
  const refused = await shell("#/models", []);
  refused.line.answer = () => refusal("unauthorized", "the token is wrong");
  await until(() => refused.one.chat.connection.kind === "logged-out");
  await settle();
  expect(refused.text()).toContain("! ");
  expect(refused.made).toContain("plain-page true");
});

test("a code leaves the address at once", async () => {
  const coded = await shell("?code=abc#/chat", ["read"], null);
  await settle();
  expect(coded.replaced.map((each) => each.includes("abc"))).toEqual([false]);
});

const key = (name: string): Event => Object.assign(new Event("keydown", { cancelable: true }), { key: name });

test("keys go to places and open the help; the rail's first page is there without an address", async () => {
  const { one, location, document, made } = await shell("", ["read"]);
  await until(() => typeof one.outlet === "object");
  expect(made.filter((each) => each.startsWith("parley-page"))).toEqual(["parley-page-chat"]);
  const press = (...names: readonly string[]): string => {
    for (const name of names) document.dispatchEvent(key(name));
    return location.hash;
  };
  expect([press("g", "o"), press("g", "a"), press("g", "y"), press("g", "x")]).toEqual([
    "#/overview",
    "#/activity",
    "#/config",
    "#/config",
  ]);
  // The page that is open takes what is its own.
  const taken = key("e");
  const asked: string[] = [];
  Object.assign(one.outlet, { onKey: (name: string) => asked.push(name) > 0 });
  document.dispatchEvent(taken);
  expect([asked, taken.defaultPrevented]).toEqual([["e"], true]);
  let isShown = 0;
  Object.assign(one, {
    querySelector: (selector: string) =>
      selector === "dialog.keys-help" ? { showModal: () => (isShown += 1) } : null,
  });
  expect(one.wantsHelp).toBe(false);
  document.dispatchEvent(key("?"));
  await settle();
  expect([one.wantsHelp, isShown]).toEqual([true, 1]);
});

test("while the line is away the page says since when; the network, or somebody who looks, has it tried at once", async () => {
  const { one, line, window, document, text, location } = await shell("#/models", ["read"]);
  await until(() => typeof one.outlet === "object");
  expect(text()).not.toContain("Offline since");
  line.isDown = true;
  line.end();
  await settle();
  expect(text()).toContain("Offline since now. What you see is from before; what you send waits here.");
  const tried = async (act: () => void): Promise<number> => {
    const before = line.addresses.length;
    act();
    await settle(3);
    return line.addresses.length - before;
  };
  const story = [
    await tried(() => window.dispatchEvent(new Event("online"))),
    await tried(() => window.dispatchEvent(new Event("offline"))),
    await tried(() => document.dispatchEvent(new Event("visibilitychange"))),
  ];
  Object.assign(document, { visibilityState: "hidden" });
  story.push(await tried(() => document.dispatchEvent(new Event("visibilitychange"))));
  expect(story).toEqual([1, 1, 1, 0]);
  Object.assign(document, { visibilityState: "visible" });
  // Gone, it hears nothing and keeps no line.
  one.disconnectedCallback();
  expect([
    await tried(() => window.dispatchEvent(new Event("online"))),
    await tried(() => document.dispatchEvent(new Event("visibilitychange"))),
  ]).toEqual([0, 0]);
  const { address } = one;
  location.hash = "#/usage";
  window.dispatchEvent(new Event("hashchange"));
  document.dispatchEvent(key("?"));
  expect([one.address, one.wantsHelp]).toEqual([address, false]);
});

test("a page that could not be made says why and can be loaded again; once it can be made it is", async () => {
  const { one, made, text, window, location } = await shell("#/usage", ["read"]);
  const { define, ...rest } = customElements;
  let isBroken = true;
  const told: unknown[] = [];
  vi.stubGlobal("console", { ...console, error: (why: unknown) => void told.push(why) });
  vi.stubGlobal("customElements", {
    ...rest,
    define(tag: string, Kind: CustomElementConstructor) {
      if (isBroken && tag.startsWith("parley-page")) throw new TypeError("its code is gone");
      define(tag, Kind);
    },
  });
  await until(() => one.outlet instanceof Error);
  expect(text()).toContain("## This page could not be loaded.\nits code is gone\n[Reload]");
  expect(told).toEqual([one.outlet]);
  const buttons = (one.render().values as unknown[]).flatMap((value) => {
    const { strings = [], values = [] } = (value ?? {}) as {
      strings?: readonly string[];
      values?: readonly unknown[];
    };
    return values.filter((_, at) => strings[at]?.endsWith("@click=") === true);
  });
  (buttons.at(-1) as () => void)();
  expect(made).toContain("reloads");
  isBroken = false;
  location.hash = "#/usage?by=agent";
  window.dispatchEvent(new Event("hashchange"));
  await until(() => !(one.outlet instanceof Error) && typeof one.outlet === "object");
  expect(one.outlet).toMatchObject({ address: { page: "usage" } });
});

test("the line goes to the folder of the page, with the token or the code, and what broke off is asked again under its key", async () => {
  const { one, line } = await shell("?x=1#/models", ["read"]);
  await until(() => typeof one.outlet === "object");
  expect(line.addresses[0]).toBe("wss://h/under/ws");
  expect(line.asked.filter((each) => each.startsWith("connect"))).toEqual(['connect {"auth":{"token":"t"}}']);
  const { console: given } = one.outlet as Page;
  const answers = line.answer;
  let cuts = 1;
  line.answer = (method, params) =>
    method.startsWith("dead.") && cuts-- > 0 ? cut : answers(method, params);
  await given.call("dead.retry", { id: "r", idempotencyKey: "k" });
  cuts = 1;
  await expect(given.call("dead.list", { limit: 1 })).rejects.toMatchObject({
    code: "closed",
    wasSent: true,
  });
  expect(line.asked.filter((each) => each.startsWith("dead."))).toEqual([
    'dead.retry {"id":"r","idempotencyKey":"k"}',
    'dead.retry {"id":"r","idempotencyKey":"k"}',
    'dead.list {"limit":1}',
  ]);
});

test("what the gateway tells reaches whoever listens for it, until they listen no more", async () => {
  const { one, line } = await shell("#/models", ["read"]);
  await until(() => typeof one.outlet === "object");
  const { console: given } = one.outlet as Page;
  const heard: string[] = [];
  const quits = [
    given.on("chat.tool", () => void heard.push("one")),
    given.on("chat.tool", () => void heard.push("two")),
    given.on("chat.typing", () => void heard.push("typing")),
    given.onChange(() => void heard.push("changed")),
  ];
  const tell = async (event: string): Promise<readonly string[]> => {
    line.tell(event, {});
    await settle(2);
    return heard.splice(0);
  };
  expect([await tell("chat.tool"), await tell("device.call")]).toEqual([["one", "two"], []]);
  quits[0]?.();
  expect(await tell("chat.tool")).toEqual(["two"]);
  for (const quit of quits) quit();
  line.end();
  await settle();
  expect(heard).toEqual([]);
  expect(["read", "admin"].map((scope) => given.may(scope as Scope))).toEqual([true, false]);
  expect(["models", "logs", "nowhere"].map((page) => given.has(page))).toEqual([true, false, false]);
});

test("the place and the tab that are open are brought into sight once they stand there", async () => {
  const { one, location, window } = await shell("#/models", ["read"]);
  await until(() => typeof one.outlet === "object");
  const frames: (() => void)[] = [];
  vi.stubGlobal("requestAnimationFrame", (act: () => void) => frames.push(act));
  const shown: unknown[] = [];
  Object.assign(one, {
    querySelectorAll: (selector: string) => [
      { scrollIntoView: (how: object) => void shown.push([selector, how]) },
    ],
  });
  one.requestUpdate();
  await settle();
  expect(frames).toHaveLength(0);
  location.hash = "#/models/x";
  window.dispatchEvent(new Event("hashchange"));
  await settle();
  expect([frames.length, shown]).toEqual([1, []]);
  frames[0]?.();
  expect(shown).toEqual([
    [".rail a[aria-current], .tabs a[aria-current]", { block: "nearest", inline: "nearest" }],
  ]);
});

test("tabs stand above a place of several pages alone, and the title names the page, or nothing but Parley", async () => {
  const { one, location, window, document, text } = await shell("#/overview", ["read"]);
  await until(() => typeof one.outlet === "object");
  const seen = (): unknown[] => [
    text().includes("«Pages of"),
    (document as unknown as { title: string }).title,
  ];
  const story = [seen()];
  for (const hash of ["#/skills", "#/logs"]) {
    location.hash = hash;
    window.dispatchEvent(new Event("hashchange"));
    await until(() => one.outlet !== "loading");
    await settle();
    story.push(seen());
  }
  expect(story).toEqual([
    [false, "Overview · Parley"],
    [true, "Skills · Parley"],
    [false, "Parley"],
  ]);
});
