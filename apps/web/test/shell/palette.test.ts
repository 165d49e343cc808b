// The command palette and the other parts of the console's frame that somebody presses, the themes, drawing
// once a frame, and the code that a device scans.
import { expect, test, vi } from "vitest";
import { emptyChat, type ChatState } from "../../src/session/state.ts";
import { keyHelpView } from "../../src/shell/keys.ts";
import { loginView } from "../../src/shell/login.ts";
import { oncePerFrame } from "../../src/shell/once-per-frame.ts";
import { Palette } from "../../src/shell/palette.ts";
import { railView } from "../../src/shell/rail.ts";
import { applyTheme, keepTheme } from "../../src/shell/theme.ts";
import { codeOf, renewedAs } from "../../src/view/device-code.ts";
import { afterEachDrawing, browser, draw, fire, markup, mounted, settled } from "../drawn.ts";
import { memoryStorage } from "../fake-gateway.ts";

class DrawnPalette extends Palette {}
customElements.define("drawn-palette", DrawnPalette);

async function palette(...names: readonly string[]) {
  browser();
  const did: string[] = [];
  const made = Object.assign(new DrawnPalette(), {
    list: () => names.map((name) => ({ name, keys: `g ${name[0]}`, run: () => void did.push(name) })),
  });
  const { place } = mounted(made);
  await settled();
  let isOpen = false;
  const dress = (): void => {
    const dialog = place.querySelector("dialog");
    if (dialog !== null)
      Object.assign(dialog, {
        open: isOpen,
        showModal() {
          isOpen = true;
          Object.assign(dialog, { open: true });
          did.push("shows");
        },
        close() {
          isOpen = false;
          did.push("closes");
          void fire(dialog, "close");
        },
      });
  };
  afterEachDrawing(made, dress);
  const input = (): HTMLInputElement => place.querySelector("input") as HTMLInputElement;
  return {
    made,
    place,
    did,
    async open() {
      made.open();
      await settled();
    },
    async type(words: string) {
      input().value = words;
      await fire(input(), "input");
    },
    async key(key: string, more: object = {}) {
      return (await fire(input(), "keydown", { key, isComposing: false, ...more })).defaultPrevented;
    },
    options: () => [...place.querySelectorAll("[role=option] bdi")].map((each) => each.textContent),
    at: () => [
      place.querySelector("[aria-selected=true] bdi")?.textContent,
      input().getAttribute("aria-activedescendant"),
    ],
  };
}

test("nothing is listed before it opens; it opens with all, the first chosen, and anew each time", async () => {
  const p = await palette("Chat", "Config", "Logs");
  expect([p.options(), p.place.querySelector(".empty")]).toEqual([[], null]);
  await p.open();
  expect([p.did, p.options(), p.at(), document.activeElement?.localName]).toEqual([
    ["shows"],
    ["Chat", "Config", "Logs"],
    ["Chat", "choice-0"],
    "input",
  ]);
  const told = (of: string): unknown =>
    Object.fromEntries(
      Array.from(p.place.querySelector(of)?.attributes ?? [], ({ name, value }) => [name, value]),
    );
  expect([told("input"), told("[role=listbox]")]).toEqual([
    {
      value: "",
      class: "search",
      role: "combobox",
      "aria-expanded": "true",
      "aria-controls": "choices",
      "aria-activedescendant": "choice-0",
      "aria-label": "Search pages and commands",
      placeholder: "Search pages and commands",
      autocomplete: "off",
      spellcheck: "false",
    },
    { class: "choices", id: "choices", role: "listbox", "aria-label": "Commands", tabindex: "-1" },
  ]);
  expect(markup(p.place.querySelector("[role=option]") as Element)).toBe(
    '<bdi>Chat</bdi><kbd class="keys">g C</kbd>',
  );
  await p.key("ArrowDown");
  await p.type("o");
  await p.open();
  expect([p.did, p.options(), p.made.wanted, p.at()[0]]).toEqual([
    ["shows"],
    ["Chat", "Config", "Logs"],
    "",
    "Chat",
  ]);
});

test("arrows go round, what is typed begins at the first again, and Enter runs what is chosen and closes", async () => {
  const p = await palette("Chat", "Config", "Logs");
  await p.open();
  const story: unknown[] = [];
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp", "Home"])
    story.push([await p.key(key), p.at()[0]]);
  expect(story).toEqual([
    [true, "Config"],
    [true, "Logs"],
    [true, "Chat"],
    [true, "Logs"],
    [false, "Logs"],
  ]);
  await p.type("o");
  expect([p.options(), p.at()]).toEqual([
    ["Config", "Logs"],
    ["Config", "choice-0"],
  ]);
  expect([await p.key("Enter", { isComposing: true }), p.did]).toEqual([false, ["shows"]]);
  await p.key("ArrowDown");
  expect([await p.key("Enter"), p.did, p.made.choices]).toEqual([true, ["shows", "closes", "Logs"], null]);
  await p.open();
  await p.type("zzz");
  expect([await p.key("ArrowDown"), await p.key("ArrowUp"), await p.key("Enter"), p.at()[1]]).toEqual([
    true,
    true,
    false,
    null,
  ]);
  expect(p.place.querySelector(".empty")?.textContent).toBe("Nothing by that name.");
});

test("a press on an entry runs it, one beside the dialog closes it, one inside does not", async () => {
  const p = await palette("Chat", "Config");
  await p.open();
  await fire(p.place.querySelectorAll("[role=option]")[1] ?? null, "click");
  expect(p.did).toEqual(["shows", "closes", "Config"]);
  await p.open();
  await fire(p.place.querySelector("input"), "click");
  expect(p.did.slice(3)).toEqual(["shows"]);
  await fire(p.place.querySelector("dialog"), "click");
  expect(p.did.slice(3)).toEqual(["shows", "closes"]);
});

test("a theme stands on the document, the system's takes it away again", () => {
  browser();
  const storage = memoryStorage();
  const now = (): unknown[] => [document.documentElement.dataset["theme"], storage.getItem("parley.theme")];
  keepTheme(storage, "dark");
  const story = [now()];
  keepTheme(storage, "system");
  story.push(now());
  applyTheme("light");
  story.push(now());
  expect(story).toEqual([
    ["dark", "dark"],
    [undefined, "system"],
    ["light", "system"],
  ]);
});

test("a draft that grows is drawn once a frame, with its newest words; any other change at once", () => {
  const frames = new Map<number, () => void>();
  let made = 0;
  vi.stubGlobal("requestAnimationFrame", (act: () => void) => (frames.set((made += 1), act), made));
  vi.stubGlobal("cancelAnimationFrame", (at: number) => void frames.delete(at));
  const seen = { visibilityState: "visible" };
  vi.stubGlobal("document", seen);
  const drawn: (string | undefined)[] = [];
  const draw = oncePerFrame(
    (chat) => void drawn.push(`${chat.draft?.text ?? "-"}${chat.working ? " works" : ""}`),
  );
  const growing = (text: string, more: Partial<ChatState> = {}): ChatState => ({
    ...emptyChat,
    draft: { turn: "t", text, html: "" } as never,
    ...more,
  });
  const since = (): readonly (string | undefined)[] => drawn.splice(0);
  draw(emptyChat);
  draw(growing("a"));
  expect(since()).toEqual(["-", "a"]);
  draw(growing("ab"));
  draw(growing("abc"));
  expect([since(), frames.size]).toEqual([[], 1]);
  for (const act of frames.values()) act();
  frames.clear();
  expect(since()).toEqual(["abc"]);
  draw(growing("abcd"));
  draw(growing("abcd", { working: true }));
  // The frame that was asked for has nothing to draw any more.
  expect([since(), frames.size]).toEqual([["abcd works"], 0]);
  draw(growing("abcde", { working: true }));
  draw({ ...emptyChat, working: true });
  expect([since(), frames.size]).toEqual([["- works"], 0]);
  seen.visibilityState = "hidden";
  draw(growing("x"));
  draw(growing("xy"));
  expect(since()).toEqual(["x", "xy"]);
  vi.unstubAllGlobals();
});

test("the screen that asks for a token gives on what was typed; the help of keys closes by a press beside it", async () => {
  browser();
  const place = document.createElement("div");
  const tokens: string[] = [];
  draw(
    loginView("it was revoked", (token) => void tokens.push(token)),
    place,
  );
  expect(place.querySelector(".wrong")?.textContent).toBe("it was revoked");
  for (const typed of [[["token", " t "]], []] as const) {
    vi.stubGlobal(
      "FormData",
      class extends Map<string, string> {
        constructor() {
          super(typed);
        }
      },
    );
    await fire(place.querySelector("form"), "submit");
  }
  expect(tokens).toEqual([" t ", ""]);
  let closes = 0;
  draw(keyHelpView(), place);
  const dialog = place.querySelector("dialog");
  Object.assign(dialog ?? {}, { close: () => (closes += 1) });
  await fire(dialog?.querySelector("h2") ?? null, "click");
  expect(closes).toBe(0);
  await fire(dialog, "click");
  expect(closes).toBe(1);
});

test("the rail opens the palette, and says how the line is", async () => {
  browser();
  const place = document.createElement("div");
  let opened = 0;
  const rail = (connection: "online" | "offline" | "connecting" | "logged-out"): string => {
    draw(railView({ allowed: [], here: undefined, connection, openPalette: () => (opened += 1) }), place);
    const told = place.querySelector("[role=status]");
    return `${told?.getAttribute("class")}: ${told?.textContent}`;
  };
  expect((["online", "offline", "connecting", "logged-out"] as const).map(rail)).toEqual([
    "connection online: Online",
    "connection offline: Offline, trying again…",
    "connection connecting: Connecting…",
    "connection logged-out: Logged out",
  ]);
  await fire(place.querySelector("button"), "click");
  expect(opened).toBe(1);
});

test("a device's code is drawn square by square, told as a link and a command, and a token alone as it is", () => {
  browser();
  const place = document.createElement("div");
  const code = { name: "phone", code: "CODE", link: "http://h/#pair=CODE", url: "http://h" };
  const modules = [
    [true, false, false],
    [false, false, true],
    [false, true, true],
  ];
  draw(codeOf({ ...code, modules }), place);
  const svg = place.querySelector("svg[role=img]");
  expect([svg?.getAttribute("viewBox"), svg?.getAttribute("aria-label")]).toEqual([
    "0 0 3 3",
    expect.any(String),
  ]);
  expect(svg?.querySelector("path")?.getAttribute("d")).toBe(
    "M0 0h1v1h-1zM2 1h1v1h-1zM1 2h1v1h-1zM2 2h1v1h-1z",
  );
  expect(["width", "height", "fill"].map((name) => svg?.querySelector("rect")?.getAttribute(name))).toEqual([
    "3",
    "3",
    "#fff",
  ]);
  const copies = (): readonly (string | null)[] =>
    [...place.querySelectorAll("button.copyable")].map((each) => each.getAttribute("title"));
  expect(copies()).toEqual(["http://h/#pair=CODE", "parley node run --url http://h --code CODE"]);
  expect(place.querySelector("p")?.textContent).toContain("“phone”");
  const renewed = { id: "d", closed: 0, ...code };
  const drawn = (more: object): number => {
    draw(renewedAs({ ...renewed, ...more } as never), place);
    return copies().length;
  };
  expect([
    drawn({ modules }),
    drawn({}),
    drawn({ modules, code: undefined }),
    drawn({ modules, link: undefined }),
  ]).toEqual([2, 0, 0, 0]);
  expect([drawn({ modules, url: undefined }), drawn({ modules, token: "tok" }), copies()]).toEqual([
    0,
    1,
    ["tok"],
  ]);
});
