// The command palette, the themes, and drawing once a frame.
import { expect, test, vi } from "vitest";
import { emptyChat, type ChatState } from "../../src/session/state.ts";
import { oncePerFrame } from "../../src/shell/once-per-frame.ts";
import { Palette } from "../../src/shell/palette.ts";
import { applyTheme, keepTheme } from "../../src/shell/theme.ts";
import { browser, fire, markup, mounted, settled } from "../drawn.ts";
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
  const update = made["update"].bind(made);
  Object.assign(made, {
    update(changed: never) {
      update(changed);
      dress();
    },
  });
  dress();
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
