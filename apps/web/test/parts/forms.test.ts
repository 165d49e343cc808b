// Forms as somebody fills them in: the fields of a form, the fields that a schema makes with their folds,
// entries that are added and taken away, and the difference of two texts.
import { expect, test, vi } from "vitest";
import { diffLines, diffView } from "../../src/parts/diff.ts";
import { form } from "../../src/parts/form.ts";
import { schemaForm, type SchemaForm } from "../../src/parts/schema-form.ts";
import type { Schema } from "../../src/parts/schema.ts";
import { browser, draw, fire, markup, named, settled } from "../drawn.ts";

test("each kind of field says its name, its help, what is wrong, and what it begins with", async () => {
  browser();
  const place = document.createElement("div");
  const sent: object[] = [];
  draw(
    form({
      fields: [
        { name: "plain", label: "Plain" },
        { name: "word", label: "Word", kind: "password", autocomplete: "current-password", required: true },
        { name: "count", label: "Count", kind: "number", value: "7", help: "How many", wrong: "too many" },
        { name: "long", label: "Long", kind: "long", value: "a\nb", required: true, wrong: "no" },
        { name: "one", label: "One", kind: "choice", choices: ["x", "y"], value: "y", help: "Which" },
        { name: "on", label: "On", kind: "switch", value: "on" },
        { name: "off", label: "Off", kind: "switch", value: "off", help: "Not now" },
        { name: "to", label: "To", suggestions: [{ value: "v", label: "l" }] },
      ],
      submit: "Go",
      wrong: "The gateway says no",
      onSubmit: (values) => void sent.push(values),
    }),
    place,
  );
  expect([...place.querySelectorAll("form > div")].map(markup)).toEqual([
    '<label for="plain">Plain</label><input type="text" id="plain" name="plain" autocomplete="off">',
    '<label for="word">Word</label><input type="password" id="word" name="word" required autocomplete="current-password">',
    '<label for="count">Count</label><p class="help" id="count-help">How many</p>' +
      '<input type="number" id="count" name="count" autocomplete="off" aria-describedby="count-help count-wrong" aria-invalid="true">' +
      '<p class="wrong" id="count-wrong">too many</p>',
    '<label for="long">Long</label><textarea id="long" name="long" rows="6" required aria-describedby="long-wrong" aria-invalid="true"></textarea>' +
      '<p class="wrong" id="long-wrong">no</p>',
    '<label for="one">One</label><p class="help" id="one-help">Which</p><select id="one" name="one" aria-describedby="one-help">' +
      "<option>x</option><option selected>y</option></select>",
    '<label for="on">On</label><input type="checkbox" id="on" name="on" checked>',
    '<label for="off">Off</label><p class="help" id="off-help">Not now</p><input type="checkbox" id="off" name="off" aria-describedby="off-help">',
    '<label for="to">To</label><input type="text" id="to" name="to" autocomplete="off" list="to-suggestions">' +
      '<datalist id="to-suggestions"><option value="v" label="l"></option></datalist>',
    "<button>Go</button>",
  ]);
  expect(place.querySelector("form > p.wrong")?.outerHTML).toBe(
    '<p class="wrong" role="alert">The gateway says no</p>',
  );
  expect(
    ["plain", "count", "long"].map((id) => (place.querySelector(`#${id}`) as HTMLInputElement).defaultValue),
  ).toEqual(["", "7", "a\nb"]);
  vi.stubGlobal(
    "FormData",
    class extends Map<string, unknown> {
      constructor() {
        super([
          ["plain", "p"],
          ["file", new Blob()],
        ]);
      }
    },
  );
  const event = await fire(place.querySelector("form"), "submit");
  expect([event.defaultPrevented, sent]).toEqual([true, [{ plain: "p", file: "" }]]);
  draw(form({ fields: [], submit: "Go", isBusy: true, onSubmit: () => {} }), place);
  expect(markup(place)).toBe('<form class="form"><div><button disabled>Go</button></div></form>');
});

const schema: Schema = {
  properties: {
    $schema: { type: "string" },
    gateway: {
      description: "How it listens.",
      properties: {
        port: { type: "integer", description: "The port.", default: 7275, minimum: 1, maximum: 65_535 },
        quiet: { type: "boolean" },
      },
    },
    servers: {
      additionalProperties: {
        properties: { url: { type: "string", default: "none" } },
        description: "A server.",
      },
    },
    words: { additionalProperties: { type: "string" } },
    paths: { additionalProperties: { type: "array", items: { type: "string" } } },
    agents: { type: "array", items: { properties: { id: { type: "string" }, model: { type: "string" } } } },
    level: { enum: ["low", "high"] },
    hosts: { type: "array", items: { type: "string" } },
    odd: {},
  },
};

function filled(value: object, more: Partial<SchemaForm> = {}) {
  browser();
  const place = document.createElement("div");
  document.body.append(place);
  const changes: unknown[] = [];
  let search = more.search ?? "";
  const show = (): void =>
    draw(
      schemaForm({
        schema,
        value,
        search,
        mayChange: true,
        problems: new Map(),
        onSearch: (words) => {
          search = words;
          show();
        },
        onChange: (path, to) => void changes.push([path.join("."), to]),
        ...more,
      }),
      place,
    );
  show();
  const fold = (key: string): HTMLDetailsElement => {
    const found = [...place.querySelectorAll<HTMLDetailsElement>("details.fold")].find(
      (each) => each.dataset["key"] === key,
    );
    if (found === undefined) throw new Error(`no fold is ${key}`);
    return found;
  };
  return {
    place,
    changes,
    fold,
    folds: () => [...place.querySelectorAll<HTMLElement>("details.fold")].map((each) => each.dataset["key"]),
    async toggle(key: string, open: boolean) {
      fold(key).open = open;
      await fire(fold(key), "toggle");
    },
    async set(id: string, to: string) {
      const field = place.querySelector(`[id="${id}"]`) as HTMLInputElement;
      Object.defineProperty(field, "value", { value: to, configurable: true });
      await fire(field, "change");
    },
    async add(id: string, name: string) {
      const field = place.querySelector(`[id="${id}"]`) as HTMLInputElement;
      field.value = name;
      const event = await fire(field.closest("form"), "submit");
      return [event.defaultPrevented, field.value];
    },
    fields: () => [...place.querySelectorAll(".schema-field label")].map((each) => each.getAttribute("for")),
  };
}

const value = {
  gateway: { port: 80 },
  servers: { one: { url: "u1" }, two: {} },
  words: { hi: "hello" },
  agents: [{ id: "main", model: "m" }, { name: "second" }, {}],
  hosts: ["a", "b"],
};

test("blocks are folded, say what is set and what is wrong, and draw what they hold once they are open", async () => {
  const f = filled(value, {
    problems: new Map([
      ["gateway.port", "in use"],
      ["serverside", "no such thing"],
      ["agents.1.id", "missing"],
      ["odd.x", "deep"],
    ]),
  });
  const summary = (key: string): string => markup(f.fold(key).querySelector("summary") as Element);
  expect(f.folds()).toEqual(["gateway", "servers", "words", "paths", "agents"]);
  expect(f.fields()).toEqual(["field-level", "field-hosts", "field-odd"]);
  expect(["gateway", "servers", "paths", "agents"].map(summary)).toEqual([
    '<code><bdi>gateway</bdi></code><span class="badge ok">set</span><span class="badge danger">look here</span><span class="quiet-text ellipsis">How it listens.</span>',
    '<code><bdi>servers</bdi></code><span class="badge ok">set</span>',
    "<code><bdi>paths</bdi></code>",
    '<code><bdi>agents</bdi></code><span class="badge ok">set</span><span class="badge danger">look here</span>',
  ]);
  await f.toggle("gateway", true);
  expect(f.fields().slice(0, 2)).toEqual(["field-gateway.port", "field-gateway.quiet"]);
  const [port] = f.place.querySelectorAll(".schema-field");
  expect(markup(port as Element)).toBe(
    '<label for="field-gateway.port"><code><bdi>port</bdi></code></label>' +
      '<input value="80" id="field-gateway.port" type="number" step="any" min="1" max="65535" autocomplete="off" spellcheck="false" placeholder="7275" aria-describedby="field-gateway.port-wrong field-gateway.port-help" aria-invalid="true">' +
      '<button class="plain" aria-label="gateway.port takes its default"> Default </button>' +
      '<p class="help" id="field-gateway.port-help">The port. Default: 7275.</p><p class="wrong" id="field-gateway.port-wrong"><bdi>in use</bdi></p>',
  );
  // What is wrong inside of a field without places of its own is told at the field.
  expect(f.place.querySelector('[id="field-odd-wrong"]')?.textContent).toBe("deep");
  // A fold inside tells of itself, and not of the one around it.
  await fire(f.fold("gateway").querySelector("summary"), "toggle");
  expect(f.fields()[0]).toBe("field-gateway.port");
  await f.toggle("gateway", false);
  expect(f.fields()[0]).toBe("field-level");
});

test("what is written goes to its place: a number, a switch, a choice, lines, JSON; an empty field takes its default", async () => {
  const f = filled({ ...value, odd: { x: 1 } });
  await f.toggle("gateway", true);
  const area = (id: string): unknown[] => {
    const field = f.place.querySelector(`[id="field-${id}"]`) as HTMLTextAreaElement;
    return [
      field.value,
      field.getAttribute("rows"),
      field.getAttribute("class") ?? "",
      field.getAttribute("placeholder"),
    ];
  };
  expect([area("hosts"), area("odd")]).toEqual([
    ["a\nb", "3", "", "One a line"],
    ['{\n  "x": 1\n}', "4", "code", "JSON"],
  ]);
  for (const [id, to] of [
    ["gateway.port", "8080"],
    ["gateway.port", ""],
    ["gateway.quiet", "true"],
    ["gateway.quiet", "false"],
    ["level", "high"],
    ["hosts", "a\n\nc"],
    ["odd", '{"y":2}'],
    ["odd", "{no json"],
  ] as const)
    await f.set(`field-${id}`, to);
  await fire(named(f.place, "hosts takes its default"), "click");
  expect(f.changes).toEqual([
    ["gateway.port", 8_080],
    ["gateway.port", undefined],
    ["gateway.quiet", true],
    ["gateway.quiet", false],
    ["level", "high"],
    ["hosts", ["a", "c"]],
    ["odd", { y: 2 }],
    ["odd", "{no json"],
    ["hosts", undefined],
  ]);
  await f.toggle("gateway", false);
});

test("entries are called by their name, their id or their number, and are added and taken away", async () => {
  const f = filled(value);
  for (const key of ["agents", "servers", "words", "paths"]) await f.toggle(key, true);
  expect(f.folds()).toEqual([
    "gateway",
    "servers",
    "servers.one",
    "servers.two",
    "words",
    "paths",
    "agents",
    "agents.0",
    "agents.1",
    "agents.2",
  ]);
  const called = [...f.place.querySelectorAll(".entry > button")].map((each) =>
    each.getAttribute("aria-label"),
  );
  expect(called).toEqual(["one", "two", "hi", "main", "second", "3"].map((name) => `Remove ${name}`));
  await fire(named(f.place, "Remove two"), "click");
  await fire(named(f.place, "Remove second"), "click");
  await fire(named(f.fold("agents"), "Add"), "click");
  expect(await f.add("add-servers", " ")).toEqual([true, " "]);
  expect(await f.add("add-servers", "one")).toEqual([true, "one"]);
  expect(await f.add("add-servers", " three ")).toEqual([true, ""]);
  expect(await f.add("add-words", "ho")).toEqual([true, ""]);
  expect(await f.add("add-paths", "p")).toEqual([true, ""]);
  expect(f.changes).toEqual([
    ["servers.two", undefined],
    ["agents.1", undefined],
    ["agents.3", {}],
    ["servers.three", {}],
    ["words.ho", ""],
    ["paths.p", []],
  ]);
  expect(f.place.querySelector('label[for="add-servers"]')?.textContent).toBe(
    "Name of the new entry of servers",
  );
  for (const key of ["agents", "servers", "words", "paths"]) await f.toggle(key, false);
  // An entry that was just added stands open.
  const more = filled({ servers: { three: {} } });
  await more.toggle("servers", true);
  expect(more.fields()[0]).toBe("field-servers.three.url");
  await more.toggle("servers.three", false);
  await more.toggle("servers", false);
});

test("a search shows places alone, whole, and says when there is none; who may only look changes nothing", async () => {
  const f = filled(value);
  const search = f.place.querySelector("input[type=search]") as HTMLInputElement;
  search.value = "URL";
  await fire(search, "input");
  expect([f.fields(), f.folds()]).toEqual([["field-servers.one.url", "field-servers.two.url"], []]);
  expect(f.place.querySelector(".schema-field code")?.textContent).toBe("servers.one.url");
  await f.set("field-servers.two.url", "new");
  expect(f.changes).toEqual([["servers.two.url", "new"]]);
  const none = filled(value, { search: "nothing of the kind" });
  expect([none.fields(), none.place.querySelector("p")?.textContent]).toEqual([
    [],
    "No setting by these words.",
  ]);
  const looker = filled({ ...value, level: "low" }, { mayChange: false });
  for (const key of ["agents", "servers", "gateway"]) await looker.toggle(key, true);
  expect([...looker.place.querySelectorAll("button, form")].length).toBe(0);
  expect(looker.place.querySelector('[id="field-gateway.port"]')?.hasAttribute("readonly")).toBe(true);
  expect(looker.place.querySelector('[id="field-hosts"]')?.hasAttribute("readonly")).toBe(true);
  expect(looker.place.querySelector('[id="field-level"]')?.hasAttribute("disabled")).toBe(true);
  expect(
    [...looker.place.querySelectorAll('[id="field-level"] option')].map((each) => [
      each.getAttribute("value"),
      each.hasAttribute("selected"),
    ]),
  ).toEqual([
    ["", false],
    ["low", true],
    ["high", false],
  ]);
  for (const key of ["agents", "servers", "gateway"]) await looker.toggle(key, false);
  await settled();
});

test("a difference shows three lines around each change, and a sign where lines are left out", () => {
  browser();
  const place = document.createElement("div");
  const numbered = (...changed: readonly number[]): string =>
    Array.from({ length: 20 }, (_, at) => (changed.includes(at) ? `new ${at}` : `${at}`)).join("\n");
  const shown = (before: string, after: string): readonly string[] => {
    draw(diffView("What changed", diffLines(before, after)), place);
    return [...place.querySelectorAll("p")].map((each) =>
      each.className === "gap" ? "⋯" : each.textContent.replaceAll(/\s+/g, " ").trim(),
    );
  };
  expect(shown(numbered(), numbered(5, 13))).toEqual(
    ["⋯", "2", "3", "4", "removed: -5", "added: +new 5", "6", "7", "8", "⋯"].concat(
      "10 11 12".split(" "),
      ["removed: -13", "added: +new 13"],
      ["14", "15", "16", "⋯"],
    ),
  );
  expect(shown(numbered(), numbered(3, 10))).toEqual(
    ["0", "1", "2", "removed: -3", "added: +new 3", "4", "5", "6"].concat(
      ["7", "8", "9", "removed: -10", "added: +new 10"],
      ["11", "12", "13", "⋯"],
    ),
  );
  expect(place.firstElementChild?.getAttribute("aria-label")).toBe("What changed");
});
