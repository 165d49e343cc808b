// The tool canvas on the message path: a page and the words about it are there together, and its presses
// come back.
import { afterEach, expect, test } from "vitest";
import { canvasId, canvasOf, forgetCanvas, openCanvasLink, pageOf } from "@parley/runner";
import { systemIds } from "@parley/protocol";
import type { Answer, Asked } from "./scripted-model.ts";
import { stage, type Person, type Stage } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const session = "agent:main:telegram:dm:olga";

const calls =
  (...all: readonly object[]) =>
  ({ text, messages }: Asked): Answer => {
    const results = messages
      .slice(messages.findLastIndex(({ role }) => role === "user"))
      .filter(({ role }) => role === "tool");
    if (!text.endsWith("show")) return `re: ${text}`;
    const args = all[results.length];
    return args === undefined
      ? `so: ${JSON.stringify(results.at(-1)?.content)}`
      : { calls: { name: "canvas", args: args as never } };
  };

async function begin(gateway: object = { publicUrl: "https://parley.example.org/p" }): Promise<Person> {
  s = await stage({ catalogue: true, config: { gateway } });
  return s.person("olga");
}

const linkIn = (): string => {
  const buttons = s.telegram
    .sent("olga")
    .flatMap(({ part }) => ("buttons" in part ? (part.buttons ?? []).flat() : []));
  return buttons.findLast(({ label }) => label === "Open")?.url ?? "";
};
const kept = async () => {
  const found = await canvasOf(s.store().cells, canvasId(session));
  return found === null ? null : { ...found.canvas, page: await pageOf(s.store().cells, found.canvas) };
};

test("a page is shown by a link for its person, and replaced in place without another message", async () => {
  const olga = await begin();
  s.model.answers(
    calls({ action: "present", html: "<p>one", title: "Shop" }, { action: "update", html: "<p>two" }),
  );
  await olga.says("show").gets("🖼 Shop", /Version 2 is in its place/);
  expect(linkIn()).toMatch(/^https:\/\/parley\.example\.org\/p\/canvas\.html#\w{32}$/);
  expect(await kept()).toMatchObject({ title: "Shop", version: 2, shown: true, page: { html: "<p>two" } });
  expect(olga.sees().filter((text) => text.includes("Shop"))).toHaveLength(1);
  const view = await openCanvasLink(s.store().cells, systemIds(), linkIn().split("#")[1] ?? "");
  expect(view).toMatchObject({ id: canvasId(session), to: "telegram:default:dm:olga" });
});

test("killed at every write, it is shown once", async () => {
  const olga = await begin();
  s.model.answers(calls({ action: "present", html: "<p>one", title: "Shop" }));
  olga.says("show");
  for (let times = 0; times < 12 && !olga.sees().some((text) => text.startsWith("so: ")); times += 1) {
    await s.pass(40 * times);
    await s.kill();
    await s.start();
  }
  await s.until(() => olga.sees().some((text) => text.startsWith("so: ")), "the answer");
  expect(await kept()).toMatchObject({ version: 1, page: { html: "<p>one" } });
  expect(olga.sees().filter((text) => text.includes("Shop"))).toHaveLength(1);
});

test("where nobody could see it, the call says so", async () => {
  const olga = await begin({});
  s.model.answers(calls({ action: "present", html: "<p>one" }));
  await olga.says("show").gets(/nobody could see it here.*gateway\.publicUrl is not set/);
  expect(await kept()).toBeNull();
});

test("/canvas makes a fresh link, and hiding takes the page away", async () => {
  const olga = await begin();
  await olga.says("/canvas").gets("I show no page here. Ask me for one.");
  s.model.answers(calls({ action: "present", html: "<p>one", title: "Shop" }));
  await olga.says("show").gets("🖼 Shop", /^so: /);
  await olga.says("/canvas").gets("Shop");
  s.model.answers(calls({ action: "hide" }));
  await olga.says("show").gets(/It is hidden/);
  await olga.says("/canvas").gets("I show no page here. Ask me for one.");
});

test("a forgotten canvas leaves no page of any version", async () => {
  const olga = await begin();
  s.model.answers(calls({ action: "present", html: "<p>one" }, { action: "update", html: "<p>two" }));
  await olga.says("show").gets("🖼 Canvas", /^so: /);
  const { cells } = s.store();
  expect(await cells.list("canvas-page:", 9)).toHaveLength(2);
  await forgetCanvas(cells, session);
  expect([...(await cells.list("canvas-page:", 9)), ...(await cells.list("canvas:", 9))]).toEqual([]);
});
