// A menu button as somebody uses it, by a press and by keys: where the focus goes, what closes it, and which
// of two sides it stands on.
import { expect, test, vi } from "vitest";
import { Menu, menu, type MenuItem } from "../../src/parts/menu.ts";
import { afterEachDrawing, browser, draw, fire, markup, mounted, named, settled } from "../drawn.ts";

class DrawnMenu extends Menu {}
customElements.define("drawn-menu", DrawnMenu);

const names = ["Rename", "Pin", "Publish", "Take off"];

async function menuOf(
  place_: { readonly top?: number; readonly left?: number; readonly height?: number } = {},
) {
  browser();
  const did: string[] = [];
  const page = new EventTarget();
  vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
  vi.stubGlobal("removeEventListener", page.removeEventListener.bind(page));
  vi.stubGlobal("innerHeight", 600);
  vi.stubGlobal("innerWidth", 800);
  let asked = 0;
  const made = Object.assign(new DrawnMenu(), {
    label: "More",
    items: () => {
      asked += 1;
      return names.map((name, at): MenuItem => ({
        name,
        icon: "pin",
        ...(at === 3 ? { look: "danger" as const, means: "Nothing is deleted." } : {}),
        run: () => void did.push(name),
      }));
    },
  });
  const { top = 100, left = 50, height = 200 } = place_;
  const { place } = mounted(made, {
    getBoundingClientRect: () => ({ top, bottom: top + 20, left, right: left + 30 }),
  });
  await settled();
  // What a browser does with a popover.
  const shown = (): HTMLElement | null => place.querySelector("[role=menu]");
  let isShown = false;
  const dress = (): void => {
    const popover = shown();
    if (popover === null) return;
    Object.assign(popover, {
      offsetWidth: 120,
      offsetHeight: height,
      matches: (selector: string) => selector === ":popover-open" && isShown,
      showPopover() {
        isShown = true;
        did.push("shows");
      },
      hidePopover() {
        if (!isShown) return;
        isShown = false;
        did.push("hides");
        void fire(popover, "toggle", { newState: "closed" });
      },
    });
  };
  afterEachDrawing(made, dress);
  const button = (): HTMLElement => place.querySelector(".menu-button") as HTMLElement;
  return {
    made,
    place,
    did,
    page,
    shown,
    asked: () => asked,
    at: () => document.activeElement?.textContent.trim(),
    press: () => fire(button(), "click"),
    hold: () => fire(button(), "pointerdown"),
    /** A key where the focus is; true: the browser's own answer to it was taken. */
    async key(key: string, more: object = {}) {
      const event = await fire(document.activeElement, "keydown", { key, ...more });
      return event.defaultPrevented;
    },
    buttonKey: (key: string) => fire(button(), "keydown", { key }),
    opens: () => fire(shown(), "toggle", { newState: "open" }),
    style: () => ({ top: shown()?.style.top, left: shown()?.style.left }),
  };
}

test("is a button that says what it opens; the entries are asked for when it opens, and gone when it closes", async () => {
  const m = await menuOf();
  const closed =
    '<button class="plain icon-only menu-button" aria-label="More" title="More" aria-haspopup="menu" aria-expanded="false">';
  expect([
    markup(m.place).startsWith(closed),
    m.asked(),
    m.place.querySelectorAll("[role=menuitem]").length,
  ]).toEqual([true, 0, 0]);
  await m.press();
  const [first, , , last] = [...m.place.querySelectorAll("[role=menuitem]")];
  expect([m.asked(), m.did, m.place.querySelector("button")?.getAttribute("aria-expanded"), m.at()]).toEqual([
    1,
    ["shows"],
    "true",
    "Rename",
  ]);
  expect(first === undefined ? "" : markup(first)).toMatch(
    /^<svg class="icon".*<\/svg><span>Rename<\/span>$/,
  );
  expect([
    last?.getAttribute("class"),
    first?.getAttribute("class") ?? "",
    first?.getAttribute("tabindex"),
  ]).toEqual(["danger", "", "-1"]);
  expect(last?.innerHTML.trim()).toMatch(/<span>Take off<small>Nothing is deleted.<\/small><\/span>$/);
  await fire(named(m.place, "Pin"), "click");
  expect([m.did, m.made.isOpen, m.place.querySelectorAll("[role=menuitem]").length]).toEqual([
    ["shows", "hides", "Pin"],
    false,
    0,
  ]);
  // An open one is asked for once more, and shown once.
  await m.press();
  m.made.open();
  await settled();
  expect([m.asked(), m.did.filter((each) => each === "shows").length]).toEqual([3, 2]);
});

test("a press on the button of an open menu, which closed it, does not open it again", async () => {
  const m = await menuOf();
  await m.hold();
  await m.press();
  expect(m.did).toEqual(["shows"]);
  await m.hold();
  m.shown()?.hidePopover();
  await settled();
  await m.press();
  expect([m.did, m.made.isOpen]).toEqual([["shows", "hides"], false]);
  await m.hold();
  await m.press();
  expect(m.did).toEqual(["shows", "hides", "shows"]);
});

test("arrows, Home, End and first letters go through the entries; no key reaches the page", async () => {
  const m = await menuOf();
  const reached: string[] = [];
  m.place.addEventListener("keydown", (event) => void reached.push((event as KeyboardEvent).key));
  await m.buttonKey("x");
  expect(m.did).toEqual([]);
  await m.buttonKey("ArrowDown");
  expect([reached, m.at()]).toEqual([["x", "ArrowDown"], "Rename"]);
  reached.length = 0;
  const story: [string, string | undefined, boolean][] = [];
  for (const key of [
    "ArrowDown",
    "ArrowUp",
    "ArrowUp",
    "ArrowDown",
    "End",
    "Home",
    "p",
    "P",
    "p",
    "t",
    "r",
    "z",
    " ",
    "Enter",
  ]) {
    const isTaken = await m.key(key);
    story.push([key, m.at(), isTaken]);
  }
  expect(story).toEqual([
    ["ArrowDown", "Pin", true],
    ["ArrowUp", "Rename", true],
    ["ArrowUp", "Take offNothing is deleted.", true],
    ["ArrowDown", "Rename", true],
    ["End", "Take offNothing is deleted.", true],
    ["Home", "Rename", true],
    ["p", "Pin", true],
    ["P", "Publish", true],
    ["p", "Pin", true],
    ["t", "Take offNothing is deleted.", true],
    ["r", "Rename", true],
    ["z", "Rename", false],
    [" ", "Rename", false],
    ["Enter", "Rename", false],
  ]);
  for (const held of ["ctrlKey", "metaKey", "altKey"])
    expect([await m.key("p", { [held]: true }), m.at()], held).toEqual([false, "Rename"]);
  expect(reached).toEqual([]);
  expect([await m.key("Tab"), m.did]).toEqual([false, ["shows", "hides"]]);
  // The up arrow begins at the end.
  await m.buttonKey("ArrowUp");
  expect(m.at()).toBe("Take offNothing is deleted.");
  expect([await m.key("Escape"), m.did.at(-1)]).toEqual([true, "hides"]);
});

test("closes when the focus leaves it, when the page scrolls, and when it goes itself", async () => {
  const m = await menuOf();
  const outside = document.createElement("button");
  document.body.append(outside);
  await m.press();
  await m.opens();
  await fire(m.shown(), "focusout", { relatedTarget: m.place.querySelector("[role=menuitem]") });
  await fire(m.shown(), "focusout", { relatedTarget: null });
  expect(m.did).toEqual(["shows"]);
  await fire(m.shown(), "focusout", { relatedTarget: outside });
  expect(m.did).toEqual(["shows", "hides"]);
  // Closed, it hears no scrolling any more.
  m.page.dispatchEvent(new Event("scroll"));
  await m.press();
  await m.opens();
  m.page.dispatchEvent(new Event("scroll"));
  await settled();
  expect(m.did).toEqual(["shows", "hides", "shows", "hides"]);
  await m.press();
  await m.opens();
  m.made.disconnectedCallback();
  expect(m.made.isOpen).toBe(false);
  m.page.dispatchEvent(new Event("scroll"));
  expect(m.did.slice(4)).toEqual(["shows"]);
  m.made.focus();
  expect(document.activeElement?.getAttribute("class")).toBe("plain icon-only menu-button");
});

test.each([
  ["below its button, towards the right", 100, 50, 200, "124px", "50px"],
  ["below where it just fits", 376, 50, 200, "400px", "50px"],
  ["above where it would not fit", 377, 50, 200, "173px", "50px"],
  ["below where it fits nowhere and there is no more room above", 300, 50, 400, "324px", "50px"],
  ["above where it fits nowhere and there is more room", 301, 50, 400, "-103px", "50px"],
  ["towards the left in the right half", 100, 386, 200, "124px", "296px"],
  ["towards the right at the middle", 100, 385, 200, "124px", "385px"],
  ["not off the left edge", 100, -10, 200, "124px", "4px"],
  ["not off the right edge", 100, 790, 200, "124px", "676px"],
])("stands %s", async (_, top, left, height, ...to) => {
  const m = await menuOf({ top, left, height });
  await m.press();
  expect(Object.values(m.style())).toEqual(to);
});

test("as a part of a page it is given its label and its entries", () => {
  browser();
  const place = document.createElement("div");
  const items = (): readonly MenuItem[] => [];
  draw(menu("More", items), place);
  expect(place.querySelector("parley-menu")).toMatchObject({ label: "More", items });
});
