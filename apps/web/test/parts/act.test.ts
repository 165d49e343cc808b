// A button that asks the gateway for something, and an id that is copied: what a press shows, asks first,
// does once and tells.
import { expect, test, vi } from "vitest";
import { Act, act } from "../../src/parts/act.ts";
import { copyText } from "../../src/parts/clipboard.ts";
import { copyable } from "../../src/parts/text.ts";
import { RequestFailure } from "../../src/session/link.ts";
import { browser, draw, fire, markup, mounted, named, settled } from "../drawn.ts";

class DrawnAct extends Act {}
customElements.define("drawn-act", DrawnAct);

async function button(more: Partial<Act>) {
  browser();
  const runs: { resolve: (told?: string) => void; reject: (why: Error) => void }[] = [];
  const run = (): Promise<string | undefined> =>
    new Promise((resolve, reject) => void runs.push({ resolve, reject }));
  const { place, element } = mounted(Object.assign(new DrawnAct(), { label: "Drop", run, ...more }));
  await settled();
  return {
    place,
    element,
    runs,
    press: (words: string) => fire(named(place, words), "click"),
    shown: () => markup(place),
  };
}

test("is done at once where nothing is asked first, once while it runs, and tells what came of it", async () => {
  const { runs, press, shown, element } = await button({ hint: "y", look: "danger" });
  expect(shown()).toBe('<button class="danger"> Drop <kbd aria-hidden="true">y</kbd></button>');
  await press("Drop y");
  expect([runs.length, shown()]).toEqual([
    1,
    '<button class="danger" disabled> Drop <kbd aria-hidden="true">y</kbd></button>',
  ]);
  element.press();
  expect(runs).toHaveLength(1);
  runs[0]?.resolve("Dropped.");
  await settled();
  expect(shown()).toMatch(/<\/button><span class="told" role="status">Dropped\.<\/span>$/);
  await press("Drop y");
  // What was told belongs to the time before.
  expect([runs.length, shown().includes("Dropped")]).toEqual([2, false]);
  runs[1]?.reject(new RequestFailure({ code: "conflict", message: "it is gone" }));
  await settled();
  expect(shown()).toMatch(/<\/button><span class="failed" role="status">That failed: it is gone<\/span>$/);
  await press("Drop y");
  runs[2]?.reject(new RequestFailure({ code: "closed", message: "lost", wasSent: true }));
  await settled();
  expect(shown()).toContain('<span class="failed" role="status">Nobody knows yet: the connection broke');
});

test("asks first where it cannot be undone, and can be left", async () => {
  const { place, runs, press, shown } = await button({ confirm: "All of it goes." });
  expect(shown()).toBe("<button> Drop </button>");
  await press("Drop");
  const asking = '<span>All of it goes.</span><button>Yes: Drop</button><button class="quiet">No</button>';
  expect([runs.length, shown()]).toEqual([0, asking]);
  await press("No");
  expect([runs.length, shown(), document.activeElement === place.querySelector("button")]).toEqual([
    0,
    "<button> Drop </button>",
    true,
  ]);
  await press("Drop");
  await press("Yes: Drop");
  expect([runs.length, shown()]).toEqual([1, "<button disabled> Drop </button>"]);
  runs[0]?.resolve();
  await settled();
  expect(shown()).toBe("<button> Drop </button>");
});

test("is given to a page with its label, its look, its question, its key and what it does", () => {
  browser();
  const place = document.createElement("div");
  const run = async (): Promise<undefined> => undefined;
  draw(act({ label: "Deny", look: "danger", confirm: "Really?", hint: "n", run }), place);
  expect(place.firstElementChild).toMatchObject({
    label: "Deny",
    look: "danger",
    confirm: "Really?",
    hint: "n",
    run,
  });
  expect(place.firstElementChild?.getAttribute("data-hint")).toBe("n");
  draw(act({ label: "Deny", run }), place);
  expect(place.firstElementChild).toMatchObject({ look: "" });
  expect(place.firstElementChild?.hasAttribute("data-hint")).toBe(false);
});

/** A browser with a clipboard, without one, or with one that refuses. */
function clipboard(kind: "there" | "refuses" | "none", commands = true): string[] {
  const story: string[] = [];
  const writeText = async (text: string): Promise<void> => {
    story.push(`writes ${text}`);
    if (kind === "refuses") throw new DOMException("no");
  };
  vi.stubGlobal("navigator", kind === "none" ? {} : { clipboard: { writeText } });
  Object.assign(document, {
    execCommand(command: string) {
      const field = document.activeElement as HTMLTextAreaElement;
      story.push(`${command}s ${field.value} out of a ${field.localName} ${field.className}`);
      return commands;
    },
  });
  return story;
}

test("text is copied to the clipboard, or out of a field where there is none or it refuses; the focus stays", async () => {
  browser();
  const before = document.createElement("button");
  document.body.append(before);
  const of = async (...kind: Parameters<typeof clipboard>): Promise<unknown> => {
    before.focus();
    const story = clipboard(...kind);
    const isCopied = await copyText("x y");
    return [isCopied, story, document.activeElement === before, document.querySelectorAll("textarea").length];
  };
  const field = "copys x y out of a textarea sr-only";
  expect([await of("there"), await of("refuses"), await of("none"), await of("none", false)]).toEqual([
    [true, ["writes x y"], true, 0],
    [true, ["writes x y", field], true, 0],
    [true, [field], true, 0],
    [false, [field], true, 0],
  ]);
});

test("an id is copied whole by a press and says so; where nothing was copied nothing is said", async () => {
  browser();
  const place = document.createElement("div");
  document.body.append(place);
  draw(copyable("0123456789\u202e", 7), place);
  expect(markup(place)).toBe(
    '<button class="copyable" title="0123456789\\u{202e}"><bdi>012…89\\u{202e}</bdi><span class="sr-only">, copy</span><span class="copied" role="status"></span></button>',
  );
  const told = (): string | undefined => place.querySelector(".copied")?.textContent;
  clipboard("none", false);
  await fire(place.querySelector("button"), "click");
  expect(told()).toBe("");
  const story = clipboard("there");
  await fire(place.querySelector("button"), "click");
  expect([story, told()]).toEqual([["writes 0123456789\u202e"], "Copied"]);
});
