// How the page says numbers and names: every text that has a value in it, for none, one, two and many, told
// once for each way in which it reads. After a wanted change: `vitest run --project @parley/web spoken -u`.
import { expect, test } from "vitest";
import { en } from "../src/texts/en.ts";

type Says = (...values: readonly number[]) => unknown;

const tries = [
  [0, 25, 37],
  [1, 26, 38],
  [2, 1, 39],
  [1_234, 0, 1],
] as const;

function saying(texts: object, path = ""): readonly (readonly [string, Says])[] {
  return Object.entries(texts).flatMap(([name, text]: [string, unknown]) => {
    const at = path === "" ? name : `${path}.${name}`;
    if (typeof text === "function") return [[at, text as Says] as const];
    return typeof text === "object" && text !== null ? saying(text, at) : [];
  });
}

test("each text says its values in their order, one as one and many as many", async () => {
  const lines = saying(en).flatMap(([path, says]) => {
    const known = new Set<string>();
    return tries.flatMap((values) => {
      const given = values.slice(0, says.length);
      const said = String(says(...given));
      // The same words around other numbers are told once.
      const form = given.reduce(
        (words, value, at) => words.replaceAll(new RegExp(`\\b${value}\\b`, "g"), "ABC".charAt(at)),
        said,
      );
      if (known.has(form)) return [];
      known.add(form);
      return [`${path} ${given.join(" ")}: ${said}\n`];
    });
  });
  await expect(lines.join("")).toMatchFileSnapshot("tables/spoken.txt");
});
