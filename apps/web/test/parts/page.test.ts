// What every page of the console does: how fresh what it shows is kept, what it says when that fails, and
// where the focus goes when it opens and when a drawer opens and closes.
import { html, type TemplateResult } from "lit";
import { expect, test } from "vitest";
import { Approvals } from "../../src/pages/approvals.ts";
import { readAddress } from "../../src/parts/address.ts";
import { drawer } from "../../src/parts/drawer.ts";
import { Page } from "../../src/parts/page.ts";
import type { Reading } from "../../src/parts/reading.ts";
import { RequestFailure } from "../../src/session/link.ts";
import { emptyChat, type ConnectionState } from "../../src/session/state.ts";
import { browser, markup, mounted, settled } from "../drawn.ts";
import { stoppedClock } from "./../pages/show-page.ts";

class ReadPage extends Page {
  asked: string[] = [];
  /** Answers that the test gives, in its own order. */
  readonly waits: { readonly resolve: (value: string) => void; readonly reject: (why: unknown) => void }[] =
    [];
  readonly one: Reading<string> = this.reading(
    () => {
      this.asked.push(this.address.rest[0] ?? "-");
      return new Promise((resolve, reject) => void this.waits.push({ resolve, reject }));
    },
    1_000,
    () => this.address.rest[0] ?? "",
  );
  override render(): TemplateResult {
    const [id] = this.address.rest;
    return this.frame({
      title: "Things",
      reading: this.one,
      body: () => html`<p>${this.one.value}</p>`,
      drawer:
        id === undefined
          ? null
          : drawer({ key: id, title: `Thing ${id}`, back: "#/things", body: html`<i>body</i>` }),
    });
  }
}
customElements.define("read-page", ReadPage);

async function open(at: string, kind: ConnectionState["kind"] = "online") {
  browser();
  Object.assign(document, { visibilityState: "visible" });
  const clock = stoppedClock();
  const watchers = new Set<() => void>();
  const console = {
    clock,
    chat: { ...emptyChat, connection: { kind } },
    onChange: (hear: () => void) => (watchers.add(hear), () => void watchers.delete(hear)),
  };
  const page = new ReadPage();
  Object.assign(page, { console, isConnected: true });
  page.address = readAddress(at);
  const { place } = mounted(page);
  await settled();
  return {
    page,
    place,
    clock,
    watchers,
    answer: async (value: string) => {
      page.waits.shift()?.resolve(value);
      await settled();
    },
    fail: async (code: "unavailable" | "closed", message: string, wasSent = false) => {
      page.waits.shift()?.reject(new RequestFailure({ code, message, wasSent }));
      await settled();
    },
    async pass(ms: number) {
      clock.pass(ms);
      await settled();
    },
    async turn(to: string) {
      page.address = readAddress(to);
      await settled();
    },
    async line(now: ConnectionState["kind"]) {
      console.chat = { ...console.chat, connection: { kind: now } };
      for (const hear of watchers) hear();
      page.requestUpdate();
      await settled();
    },
    see: (visibilityState: string) => void Object.assign(document, { visibilityState }),
    text: () => place.querySelector("p:not(.trouble)")?.textContent ?? null,
    trouble: () => place.querySelector(".trouble")?.textContent ?? null,
    hasSkeleton: () => place.querySelector(".skeleton") !== null,
    since: () => page.asked.splice(0),
  };
}

test("it is read when the page opens and so often, while somebody looks; each wait begins with the answer before", async () => {
  const p = await open("#/things");
  expect([p.since(), p.hasSkeleton(), p.text()]).toEqual([["-"], true, null]);
  await p.pass(5_000);
  expect(p.since()).toEqual([]);
  await p.answer("one");
  expect([p.text(), p.hasSkeleton()]).toEqual(["one", false]);
  await p.pass(999);
  expect(p.since()).toEqual([]);
  await p.pass(1);
  expect(p.since()).toEqual(["-"]);
  p.see("hidden");
  await p.answer("two");
  await p.pass(10_000);
  expect([p.since(), p.text()]).toEqual([[], "two"]);
  p.see("visible");
  await p.pass(1_000);
  expect(p.since()).toEqual(["-"]);
});

test("what is asked anew is not waited for twice: an older answer, and an older failure, change nothing", async () => {
  const p = await open("#/things");
  void p.page.one.again();
  await settled();
  expect(p.since()).toEqual(["-", "-"]);
  const [old] = p.page.waits.splice(0, 1);
  await p.answer("new");
  old?.resolve("old");
  await settled();
  expect(p.text()).toBe("new");
  void p.page.one.again();
  void p.page.one.again();
  await settled();
  const [older] = p.page.waits.splice(0, 1);
  older?.reject(new RequestFailure({ code: "unavailable", message: "late" }));
  await settled();
  expect(p.trouble()).toBe(null);
  await p.answer("newest");
  // One reading is due, not one for each that was asked.
  p.since();
  await p.pass(1_000);
  expect(p.since()).toEqual(["-"]);
});

test("another object is read at once, and what was read of the one before goes with its trouble", async () => {
  const p = await open("#/things/a");
  await p.answer("of a");
  expect(p.since()).toEqual(["a"]);
  await p.turn("#/things/b");
  expect([p.text(), p.hasSkeleton(), p.since()]).toEqual([null, true, ["b"]]);
  await p.fail("unavailable", "no b");
  expect([p.trouble(), markup(p.place.querySelector(".page-body") as Element)]).toEqual([
    "This could not be read: no b",
    '<header class="page-head"><h1>Things</h1></header><p class="trouble" role="alert">This could not be read: no b</p>' +
      '<p><a class="button quiet" href="#/things">To the start of Things</a></p>',
  ]);
  await p.turn("#/things/c");
  expect([p.trouble(), p.hasSkeleton()]).toEqual([null, true]);
  // The same one is not read again for another query.
  p.since();
  await p.turn("#/things/c?x=1");
  expect(p.since()).toEqual([]);
});

test("a failure is told beside what was read, and not while the line is away; a start has no way out of itself", async () => {
  const p = await open("#/things");
  await p.fail("unavailable", "the store is away");
  expect([p.trouble(), p.hasSkeleton()]).toEqual(["This could not be read: the store is away", true]);
  await p.pass(1_000);
  await p.answer("one");
  expect([p.trouble(), p.text()]).toEqual([null, "one"]);
  await p.pass(1_000);
  await p.fail("closed", "x");
  expect([p.trouble(), p.text()]).toEqual(["This could not be read: the gateway cannot be reached", "one"]);
  await p.line("offline");
  expect([p.trouble(), p.text()]).toEqual([null, "one"]);
  const lost = await open("#/things/a");
  await lost.fail("closed", "x", true);
  expect(lost.trouble()).toBe(
    "This could not be read: the connection broke before the answer came; look whether it is done before you repeat it",
  );
  await lost.line("connecting");
  expect([lost.hasSkeleton(), lost.place.querySelector("a.button:not(.close)")]).toEqual([true, null]);
});

test("it is read at once when the line is back, and no more once the page is gone", async () => {
  const p = await open("#/things", "connecting");
  expect([p.since(), p.watchers.size]).toEqual([[], 1]);
  await p.line("online");
  expect(p.since()).toEqual(["-"]);
  await p.answer("one");
  await p.line("online");
  expect(p.since()).toEqual([]);
  await p.line("offline");
  await p.line("online");
  expect(p.since()).toEqual(["-"]);
  p.page.disconnectedCallback();
  await p.answer("late");
  expect([p.page.one.value, p.watchers.size]).toEqual(["one", 0]);
  await p.pass(60_000);
  expect(p.since()).toEqual([]);
  // What somebody pressed before they left ends later, and has a page read that nobody sees.
  void p.page.one.again();
  await p.pass(60_000);
  expect(p.since()).toEqual([]);
  p.page.connectedCallback();
  expect(p.since()).toEqual(["-"]);
});

/** Reads the same list whatever is open beside it. */
class ListPage extends Page {
  readonly #rows = this.reading(async () => ["a", "b c"]);
  override render(): TemplateResult {
    const [id] = this.address.rest;
    return this.frame({
      title: "Things",
      reading: this.#rows,
      body: () =>
        html`<table>
          ${this.#rows.value?.map(
            (key) =>
              html`<tr data-key=${key}>
                <td><a href="#x">row ${key}</a></td>
              </tr>`,
          )}
        </table>`,
      drawer:
        id === undefined
          ? null
          : drawer({ key: id, title: `Thing ${id}`, back: "#/things", body: html`<i>body</i>` }),
    });
  }
}

function listPageAt(address: string): ListPage {
  const page = new ListPage();
  Object.assign(page, {
    console: {
      clock: stoppedClock(),
      chat: { ...emptyChat, connection: { kind: "online" } },
      onChange: () => () => {},
    },
    isConnected: true,
  });
  page.address = readAddress(address);
  return page;
}
customElements.define("list-page", ListPage);

test("the focus goes to the page, into a drawer that opens or is another, and back to its row or to the page", async () => {
  browser();
  Object.assign(document, { visibilityState: "visible" });
  const focused: string[] = [];
  document.addEventListener("focusin", ({ target }) => {
    const { className, textContent } = target as HTMLElement;
    focused.push(className === "" ? textContent.trim() : className);
  });
  const page = listPageAt("#/things");
  const { place } = mounted(page);
  await settled();
  const turn = async (to: string): Promise<readonly string[]> => {
    focused.length = 0;
    page.address = readAddress(to);
    await settled();
    return [...focused];
  };
  expect([focused, place.firstElementChild?.className]).toEqual([["page-body"], "page"]);
  expect(await turn("#/things/b%20c")).toEqual(["Thing b c"]);
  const aside = place.querySelector("aside") as Element;
  expect(["data-key", "aria-label"].map((name) => aside.getAttribute(name))).toEqual(["b c", "Thing b c"]);
  expect([place.firstElementChild?.className, markup(aside).replace(/<svg.*<\/svg>/, "(icon)")]).toEqual([
    "page with-drawer",
    '<div class="drawer-head"><h2 tabindex="-1">Thing b c</h2><a class="button quiet close" href="#/things" aria-label="Close">(icon)</a></div>' +
      '<div class="drawer-body" tabindex="0" role="group" aria-label="Thing b c"><i>body</i></div>',
  ]);
  // Drawn again, it takes the focus from nobody.
  expect(await turn("#/things/b%20c?x=1")).toEqual([]);
  expect(await turn("#/things/a")).toEqual(["Thing a"]);
  expect(await turn("#/things")).toEqual(["row a"]);
  expect(await turn("#/things/gone")).toEqual(["Thing gone"]);
  expect(await turn("#/things")).toEqual(["page-body"]);
});

test("a page that opens with a drawer gives it the focus", async () => {
  browser();
  const focused: string[] = [];
  document.addEventListener(
    "focusin",
    ({ target }) => void focused.push((target as HTMLElement).textContent.trim()),
  );
  const page = listPageAt("#/things/a");
  mounted(page);
  await settled();
  expect(focused).toEqual(["Thing a"]);
  expect([page.commands(), page.onKey("y")]).toEqual([[], false]);
});

test("an approval that is open is decided by its key, and no other key is taken", async () => {
  browser();
  Object.assign(document, { visibilityState: "visible" });
  class KeyedApprovals extends Approvals {}
  customElements.define("keyed-approvals", KeyedApprovals);
  const page = new KeyedApprovals();
  const asked: string[] = [];
  const approval = (id: string) => ({
    id,
    state: "open",
    session: "s",
    agent: "m",
    tool: "exec",
    shown: "ls",
    reason: "r",
    always: true,
    asked: "E",
    createdAtMs: 0,
    expiresAtMs: 0,
    log: [],
  });
  Object.assign(page, {
    console: {
      clock: stoppedClock(),
      chat: { ...emptyChat, connection: { kind: "online" } },
      onChange: () => () => {},
      may: () => true,
      async call(method: string, params: object) {
        asked.push(`${method} ${JSON.stringify(params)}`);
        return { approvals: [approval("a"), approval("b")], grants: [] };
      },
    },
  });
  page.address = readAddress("#/approvals");
  const { place } = mounted(page);
  await settled();
  expect(page.onKey("y")).toBe(false);
  const turn = async (to: string): Promise<void> => {
    page.address = readAddress(to);
    await settled();
  };
  await turn("#/approvals/a");
  const pressed: string[] = [];
  for (const act of place.querySelectorAll("parley-act")) {
    const button = document.createElement("button");
    button.addEventListener("click", () => void pressed.push(act.getAttribute("data-hint") ?? "-"));
    act.append(button);
  }
  expect([page.onKey("y"), page.onKey("n"), page.onKey("x"), page.onKey('"]')]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(pressed).toEqual(["y", "n"]);
  // Another approval is none to read anew for; decided ones are.
  await turn("#/approvals/b");
  expect(asked).toEqual(['approvals.list {"all":false}']);
  await turn("#/approvals/b?all=1");
  await turn("#/approvals/a?all=1");
  expect(asked).toEqual(['approvals.list {"all":false}', 'approvals.list {"all":true}']);
});
