// What the page looks like is for people to judge; what is simply wrong is found here: a class that nothing
// dresses, a rule for nothing, a colour that no theme gives, and an element that nothing makes.
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { composerStyles } from "../src/view/chat/composer-styles.ts";
import { controlStyles } from "../src/view/control-styles.ts";
import { messageStyles } from "../src/view/chat/messages-styles.ts";
import { richTextStyles } from "../src/view/rich-text/rich-text-styles.ts";
import { toolStyles } from "../src/view/chat/tool-card.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const read = (file: string): string => readFileSync(root + file, "utf8");
const scripts = globSync("src/**/*.ts", { cwd: root }).toSorted();
const sheets = {
  page: read("src/page.css"),
  device: read("src/device/device.css"),
  canvas: read("src/canvas/viewer.css"),
  parts: [composerStyles, controlStyles, messageStyles, richTextStyles, toolStyles].map(String).join("\n"),
};
const css = Object.values(sheets).join("\n");
const selectors = css.replaceAll(/\{[^{}]*\}/g, " ");

/** Names of classes in the templates and scripts, with those that a value chooses. */
function classesOf(text: string): readonly string[] {
  return [...text.matchAll(/\bclass(?:Name)?\s?=\s?(?:"((?:\$\{[^}]*\}|[^"$])*)"|\$\{([^}]*)\})/g)].flatMap(
    ([, quoted, chosen = ""]) => {
      const values = [...(quoted ?? `\${${chosen}}`).matchAll(/\$\{([^}]*)\}/g)].map(
        ([, value = ""]) => value,
      );
      const literals = values.flatMap((value) =>
        [...value.replaceAll(/[=!]== "[^"]*"/g, "").matchAll(/"([^"]*)"/g)].map(([, words = ""]) => words),
      );
      return [(quoted ?? "").replaceAll(/\$\{[^}]*\}/g, " "), ...literals].flatMap((words) =>
        words.split(/\s+/).filter((name) => name !== ""),
      );
    },
  );
}

test("each class that is given is dressed by a sheet or looked for by a script", () => {
  const looked = new Set(
    scripts.flatMap((file) =>
      [...read(file).matchAll(/(?:["`( ])[a-z-]*\.([a-z][\w-]*)/g)].map(([, name = ""]) => name),
    ),
  );
  const dressed = new Set([...selectors.matchAll(/\.([a-z][\w-]*)/g)].map(([, name = ""]) => name));
  const undressed = scripts.flatMap((file) =>
    classesOf(read(file))
      .filter((name) => !dressed.has(name) && !looked.has(name))
      .map((name) => `${file}: ${name}`),
  );
  expect(undressed).toEqual([]);
});

test("each rule dresses something that there is", () => {
  const all = [...scripts, "index.html", "device.html", "canvas.html"].map(read).join("\n");
  const names = new Set([...selectors.matchAll(/\.([a-z][\w-]*)/g)].map(([, name = ""]) => name));
  // Of the gateway's own markup, and of what draws the editor and formulas.
  const others = /^(?:cm-|tok-)/;
  expect([...names].filter((name) => !others.test(name) && !new RegExp(`\\b${name}\\b`).test(all))).toEqual(
    [],
  );
});

test("each role of a colour or a size is given by the sheet of the page, in the dark too, and used", () => {
  const names = (of: RegExp, text: string): readonly string[] => [
    ...new Set([...text.matchAll(of)].map(([, name = ""]) => name)),
  ];
  const given = names(/(--[\w-]+)\s*:/g, sheets.page);
  const wanted = names(/var\((--[\w-]+)/g, `${sheets.page}${sheets.parts}${scripts.map(read).join("\n")}`);
  expect(wanted.filter((name) => !given.includes(name))).toEqual([]);
  expect(given.filter((name) => !wanted.includes(name))).toEqual([]);
});

test("each element of the markup is made by the class of its name", () => {
  const made = scripts.flatMap((file) =>
    [...read(file).matchAll(/customElements\.define\("parley-([\w-]+)", (\w+)\)/g)].map(
      ([, tag = "", kind = ""]) => [tag, kind] as const,
    ),
  );
  const markup = [...scripts, "index.html", "device.html"].map(read).join("\n");
  const used = new Set([...markup.matchAll(/<parley-([\w-]+)/g)].map(([, tag = ""]) => tag));
  expect(made.map(([tag]) => tag).toSorted()).toEqual([...used].toSorted());
  const names = made.map(([tag]) =>
    tag.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase()),
  );
  // The page's frame and a device's page are called by what they hold.
  const kinds = new Map([
    ["Console", "Shell"],
    ["Device", "DevicePage"],
  ]);
  expect(made.map(([, kind]) => kind)).toEqual(names.map((name) => kinds.get(name) ?? name));
});
