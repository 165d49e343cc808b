// The config as an operator changes it: typed or filled in, checked, saved over the file that was read,
// taken back for ten minutes, and what is said when somebody else saved it meanwhile.
import type { MethodParams, MethodResult } from "@parley/protocol";
import { expect, test } from "vitest";
// Before a test has a document of its own, which the editor would take for a browser's.
import "../../src/view/config-editor.ts";
import { Config } from "../../src/pages/config.ts";
import type { ConfigEditor } from "../../src/view/config-editor.ts";
import { problemsView } from "../../src/view/config-problems.ts";
import { browser, draw, fire, named } from "../drawn.ts";
import { section, showPage, type ShownPage } from "./show-page.ts";

type Applied = MethodResult<"config.apply">;
type Problem = MethodResult<"config.get">["problems"][number];

const schema = { properties: { name: { type: "string" }, mode: { enum: ["a", "b"] } } };

async function config(
  at: string,
  parts: {
    readonly may?: readonly ("read" | "admin")[];
    readonly applied?: Partial<Applied>;
    readonly file?: unknown;
  } = {},
) {
  const now = {
    hash: "h1",
    text: "{ name: 'Old' }",
    file: parts.file === undefined ? { name: "Old" } : parts.file,
  };
  const found: { problems: Problem[]; warnings: Problem[]; restartNeeded: string[] } = {
    problems: [],
    warnings: [],
    restartNeeded: [],
  };
  const fails = new Set<string>();
  const held: (() => void)[] = [];
  let isHeld = false;
  const refuse = (method: string): void => {
    if (fails.has(method)) throw page.refusal("invalid", `no ${method}`);
  };
  const page: ShownPage = await showPage(Config, {
    at,
    ...(parts.may === undefined ? {} : { may: parts.may }),
    answers: {
      "config.get": () =>
        ({
          path: "/p.json5",
          exists: true,
          hash: now.hash,
          file: now.file,
          config: null,
          problems: [],
          warnings: [],
        }) as never,
      "config.text": (async ({ text, config: filled }: MethodParams<"config.text">) => {
        refuse("config.text");
        if (text === undefined) return { ...now };
        if (isHeld) await new Promise<void>((resolve) => void held.push(resolve));
        if (filled === undefined) return { text: null, hash: "", file: { name: `read from ${text}` } };
        return {
          text: `${JSON.stringify(filled)} over ${text.slice(0, 9)}`,
          hash: "",
          file: { ...filled, put: true },
        };
      }) as never,
      "config.schema": { schema },
      "config.validate": (async () => {
        refuse("config.validate");
        if (isHeld) await new Promise<void>((resolve) => void held.push(resolve));
        return { ...found };
      }) as never,
      "config.apply": (params) => {
        refuse("config.apply");
        Object.assign(now, { hash: `after ${now.hash}`, ...("text" in params ? { text: params.text } : {}) });
        return {
          hash: now.hash,
          changed: ["name", "mode"],
          backup: "/p.json5.bak",
          restartNeeded: ["gateway.port"],
          ...parts.applied,
        } as Applied;
      },
      restart: { turnsRunning: 1, deliveriesWaiting: 2 } as never,
    },
  });
  const editor = async (): Promise<ConfigEditor> =>
    (await page.view()).querySelector("parley-config-editor") as unknown as ConfigEditor;
  return {
    page,
    now,
    found,
    fails,
    hold: () => (isHeld = true),
    async release() {
      isHeld = false;
      held.splice(0).forEach((resolve) => resolve());
      return page.text();
    },
    editor,
    async type(text: string) {
      (await editor()).onText(text);
      return page.text();
    },
    /** What was asked, but for the readings. */
    did: () => page.asked.filter((each) => !/^config\.(?:get|schema|text) \{\}$/.test(each)),
  };
}

const problem = (path: string, more: Partial<Problem> = {}): Problem => ({
  path,
  message: `wrong at ${path}`,
  ...more,
});

test("what is typed is a draft, told as what would change, and checked once its writer pauses", async () => {
  const c = await config("#/config/text");
  expect(await c.editor()).toMatchObject({
    label: "What it says, as JSON5",
    text: "{ name: 'Old' }",
    schema,
    readonly: false,
    mistakes: [],
  });
  expect(await c.page.text()).toContain("Change something");
  await c.type("{ name: 'N' }");
  await c.page.pass(599);
  const typed = await c.type("{ name: 'New' }");
  expect(typed).toContain("## What would change\nremoved: -{ name: 'Old' }\nadded: +{ name: 'New' }\n[Save");
  await c.page.pass(599);
  expect(c.did()).toEqual([]);
  Object.assign(c.found, {
    problems: [problem("name", { line: 1, column: 3, fix: "Shorten it" })],
    warnings: [problem("mode", { line: 2 })],
    restartNeeded: ["gateway.port", "store"],
  });
  const checked = await c.page.pass(1);
  expect(checked).toContain("Takes a restart: gateway.port, store");
  expect(checked).toContain("## 2 things to look at");
  expect((await c.editor()).mistakes).toEqual([
    { line: 1, column: 3, message: "wrong at name", fix: "Shorten it", isWarning: false },
    { line: 2, message: "wrong at mode", isWarning: true },
  ]);
  expect(c.did()).toEqual([
    'config.validate {"text":"{ name: \'New\' }"}',
    'config.text {"text":"{ name: \'New\' }"}',
  ]);
  // The form shows what the text says now.
  expect(await c.page.go("#/config")).toContain("read from { name: 'New' }");
  await c.page.go("#/config/text");
  // Typed again, what was found of the text before counts no more.
  expect(await c.type("{ name: 'Newer' }")).not.toMatch(/things to look at|Takes a restart/);
  expect(await c.type("{ name: 'Old' }")).toContain("Change something");
});

test("a text that is no JSON5 has no form; the one that was read has one again", async () => {
  const c = await config("#/config/text");
  await c.type("{ broken");
  c.found.problems = [problem("", { line: 1, column: 3 })];
  await c.page.pass(600);
  expect(c.did()).toEqual(['config.validate {"text":"{ broken"}']);
  expect(await c.page.go("#/config")).toContain("! What you typed cannot be read yet");
  expect(await c.page.press("Throw away")).toBe(undefined);
  expect(await c.page.text()).toContain("_=Old_");
});

test("a draft is read for the form unless it is told that the text itself cannot be read", async () => {
  const c = await config("#/config/text");
  let drafts = 0;
  const isRead = async (
    problems: readonly Problem[],
    warnings: readonly Problem[] = [],
  ): Promise<boolean> => {
    Object.assign(c.found, { problems, warnings });
    await c.type(`{ name: 'N${(drafts += 1)}' }`);
    await c.page.pass(600);
    return c.did().at(-1)?.startsWith("config.text") === true;
  };
  expect([
    await isRead([]),
    await isRead([problem("")]),
    await isRead([problem("name", { line: 1 }), problem("mode", { line: 2 })]),
    await isRead([], [problem("", { line: 1 })]),
    await isRead([problem("", { line: 1, column: 3 })]),
    await isRead([problem("name", { line: 1 }), problem("", { line: 1 })]),
  ]).toEqual([true, true, true, true, false, false]);
  // What the form filled in is known already.
  Object.assign(c.found, { problems: [] });
  await c.page.press("Throw away");
  await c.page.go("#/config");
  await c.page.fill("field-name", "A");
  await c.page.pass(600);
  expect(
    c
      .did()
      .slice(-2)
      .map((each) => each.split(" ")[0]),
  ).toEqual(["config.text", "config.validate"]);
});

test("a check tells how it went, and nothing of a text that is no more the draft", async () => {
  const c = await config("#/config/text");
  await c.type("{ a: 1 }");
  expect(await c.page.press("Check")).toBe("Nothing is wrong.");
  c.found.problems = [problem("a")];
  c.found.warnings = [problem("b")];
  expect(await c.page.press("Check")).toBe("2 things to look at");
  c.hold();
  const checking = c.page.press("Check");
  await c.page.text();
  await c.type("{ a: 2 }");
  expect(await c.release()).not.toContain("things to look at");
  expect(await checking).toBe("Something else was typed meanwhile.");
  c.fails.add("config.validate");
  // What cannot be asked while somebody types is asked with the save.
  expect(await c.page.pass(600)).not.toContain("no config.validate");
});

test("a draft is saved over the file that it began from; what a save did stands there, with the way back", async () => {
  const c = await config("#/config/text");
  await c.type("{ name: 'New' }");
  expect(await c.page.press("Save")).toBe(undefined);
  const saved = await c.page.text();
  expect(saved.slice(saved.indexOf("## Saved"))).toBe(
    [
      "## Saved",
      "Changed: | name, mode",
      "Takes a restart: | gateway.port",
      "The file before: | [copy /p.json5.bak]",
      "[Take it back | quiet | The text from before is written again. Secrets stay as they are now.] [Restart | danger | Work that runs is finished first; people wait meanwhile.]",
      "",
    ].join("\n"),
  );
  expect(saved).not.toContain("Change something");
  expect((await c.editor()).text).toBe("{ name: 'New' }");
  expect(await c.page.press("Restart")).toBe("It ends 1 turn and 2 answers, and starts again.");
  expect(await c.page.pass(599_999)).toContain("[Take it back");
  expect(await c.page.press("Take it back")).toBe("2 values taken back.");
  expect(await c.page.text()).not.toContain("## Saved");
  expect(c.did().filter((each) => /apply|restart/.test(each))).toEqual([
    'config.apply {"text":"{ name: \'New\' }","baseHash":"h1","idempotencyKey":"uuid-1"}',
    'restart {"reason":"config"}',
    'config.apply {"text":"{ name: \'Old\' }","baseHash":"after h1","idempotencyKey":"uuid-2"}',
  ]);
});

test.each([
  ["ten minutes passed", {}, 600_000, undefined],
  ["another one saved it since", {}, 0, "other"],
  ["it changed nothing", { changed: [], restartNeeded: [], backup: null }, 0, undefined],
] as const)("there is no way back once %s", async (_, applied, ms, hash) => {
  const c = await config("#/config/text", { applied: applied as never });
  await c.type("{ name: 'New' }");
  await c.page.press("Save");
  if (hash !== undefined) c.now.hash = hash;
  await c.page.pass(Math.max(ms, 5_000));
  const shown = await c.page.text();
  expect([shown.includes("## Saved"), shown.includes("[Take it back")]).toEqual([true, false]);
  if ("changed" in applied)
    expect(shown.slice(shown.indexOf("## Saved"))).toBe(
      "## Saved\nChanged: | nothing: the file said so already\nTakes a restart: | nothing: all of it holds now\n",
    );
});

test("a file that another one saved is told to whoever has a draft; theirs is thrown away and the file read anew", async () => {
  const c = await config("#/config/text");
  await c.type("{ name: 'Mine' }");
  Object.assign(c.now, { hash: "h2", text: "{ name: 'Theirs' }", file: { name: "Theirs" } });
  const moved = await c.page.pass(5_000);
  expect(moved).toContain("The file changed since you began: saving is refused. [Throw away | danger");
  // The draft is still compared with the file that it began from, and saved over that one alone.
  expect(moved).toContain("removed: -{ name: 'Old' }\nadded: +{ name: 'Mine' }");
  c.fails.add("config.apply");
  await expect(c.page.press("Save")).rejects.toThrow("no config.apply");
  expect((await c.editor()).text).toBe("{ name: 'Mine' }");
  expect(c.did().at(-1)).toContain('"baseHash":"h1"');
  const place = await c.page.view();
  await (place.querySelector(".trouble parley-act") as unknown as { run(): Promise<void> }).run();
  const anew = await c.page.text();
  expect([anew.includes("saving is refused"), (await c.editor()).text]).toEqual([
    false,
    "{ name: 'Theirs' }",
  ]);
});

test("fields that are filled in one after the other are put into one text, the newest last", async () => {
  const c = await config("#/config");
  await c.page.text();
  c.hold();
  await c.page.fill("field-name", "A");
  expect(await c.page.change("#field-mode", { value: "b" })).toContain("_=A_");
  await c.release();
  const saved = await c.page.press("Save");
  expect(saved).toBe(undefined);
  expect(c.did().filter((each) => each.startsWith("config.text"))).toEqual([
    'config.text {"text":"{ name: \'Old\' }","config":{"name":"A"}}',
    expect.stringContaining('"config":{"name":"A","mode":"b"}'),
  ]);
  expect(c.did().find((each) => each.startsWith("config.apply"))).toContain('"baseHash":"h1"');
});

test("a save waits for what was filled in last", async () => {
  const c = await config("#/config");
  await c.page.text();
  c.hold();
  await c.page.fill("field-name", "A");
  const saving = c.page.press("Save");
  await c.page.text();
  expect(c.did().some((each) => each.startsWith("config.apply"))).toBe(false);
  await c.release();
  await saving;
  expect(c.did().find((each) => each.startsWith("config.apply"))).toContain('{\\"name\\":\\"A\\"} over');
});

test("a field that cannot be put into the text says why, until something else is changed", async () => {
  const c = await config("#/config");
  await c.page.text();
  c.fails.add("config.text");
  expect(await c.page.fill("field-name", "A")).toContain("! no config.text");
  c.fails.clear();
  const again = await c.page.fill("field-name", "B");
  expect(again).not.toContain("! no config.text");
  // What was looked for stays in the field of the search.
  const searched = await c.page.change("input[type=search]", { value: "mode" }, "input");
  expect([searched.includes("_=mode_search"), searched.includes('name="field-name"')]).toEqual([true, false]);
});

test("who may only look sees the file without its comments and changes nothing; a file that is no JSON5 is not edited here", async () => {
  const c = await config("#/config/text", { may: ["read"] });
  expect(await c.editor()).toMatchObject({ text: '{\n  "name": "Old"\n}', readonly: true });
  expect(await c.page.text()).toContain("To change it takes a token with the scope “admin”.");
  expect(c.page.asked.some((each) => each.startsWith("config.text"))).toBe(false);
  const broken = await config("#/config/text", { file: null });
  expect(await broken.editor()).toMatchObject({ readonly: true });
  expect(await broken.page.text()).toContain("! The file is no JSON5 as it stands");
});

test("the page of a draft, whole: what is typed, what was found of it, that the file moved, and what a save did", async () => {
  const c = await config("#/config/text");
  const typed = await c.type("{ name: 'New' }");
  Object.assign(c.found, {
    problems: [
      problem("name", { line: 1, column: 3, fix: "Shorten it" }),
      problem("hosts[1].x", { line: 9 }),
    ],
    warnings: [problem("", { message: "the file is old" })],
    restartNeeded: ["gateway.port", "store"],
  });
  const checked = await c.page.pass(600);
  const asForm = await c.page.go("#/config");
  await c.page.go("#/config/text");
  Object.assign(c.now, { hash: "h2", text: "{ name: 'Theirs' }", file: { name: "Theirs" } });
  const moved = await c.page.pass(5_000);
  await c.page.press("Save");
  const saved = await c.page.text();
  const looker = await config("#/config/text", { may: ["read"] });
  await expect(
    section("typed", typed) +
      section("checked", checked) +
      section("as a form", asForm) +
      section("the file moved", moved) +
      section("saved", saved) +
      section("may only look", await looker.page.text()),
  ).toMatchFileSnapshot("shown/config-draft.txt");
});

test("what is wrong leads to its place in the text, where there is one", async () => {
  browser();
  const place = document.createElement("div");
  const went: unknown[] = [];
  const wrong = [
    problem("a", { line: 3, column: 7 }),
    problem("b", { line: 9 }),
    problem("", { fix: "mend it" }),
  ];
  draw(
    problemsView(wrong, (...at) => void went.push(at)),
    place,
  );
  for (const words of ["line 3, column 7", "line 9, column 1"]) await fire(named(place, words), "click");
  expect(went).toEqual([
    [3, 7],
    [9, 1],
  ]);
  expect(
    [...place.querySelectorAll("li")].map((each) => each.textContent.replaceAll(/\s+/g, " ").trim()),
  ).toEqual([
    "a line 3, column 7 wrong at a",
    "b line 9, column 1 wrong at b",
    "the whole file wrong at mend it",
  ]);
  draw(problemsView(wrong.slice(0, 1)), place);
  expect([place.querySelector("button"), place.querySelector("h2")?.textContent]).toEqual([
    null,
    "1 thing to look at",
  ]);
  draw(problemsView([]), place);
  expect(place.innerHTML.trim()).toBe("");
});
