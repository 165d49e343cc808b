// Every command that the README, docs/ and deploy/ show is one that there is, with the options that it has:
// what completion offers is asked.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parley, stateFolder } from "./fake-gateway.ts";

const root = join(import.meta.dirname, "../../..");
const pages = [
  "README.md",
  "deploy/README.md",
  ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`),
];

/** Shown in a block or within a line, up to what is said of it. */
const shown = /(?:^(?:\$ )?|`)(?:bin\/)?parley ((?:--json )?[a-z]+(?: [^`\n#]*)?)/gm;

test("each command and option that the documents show is there", async () => {
  const { out } = await parley(stateFolder(null), ["completion", "fish"]);
  const words = new Set<string>();
  for (const [, at = "", kind = "", word = ""] of out.matchAll(/__parley_at "([^"]*)"' -([al]) (\S+)/g))
    words.add(`${at} ${kind === "l" ? "--" : ""}${word}`.trim());
  const found: string[] = [];
  let seen = 0;
  for (const page of pages.filter((name) => name.endsWith(".md")))
    for (const [, line = ""] of readFileSync(join(root, page), "utf8").matchAll(shown)) {
      // What follows two spaces is said of it, what follows `--` is somebody else's.
      const asked =
        line
          .replace(/^--json /, "")
          .split(/ {2}| -- /)[0]
          ?.split(" ") ?? [];
      let at = "";
      for (const word of asked) {
        if (word.startsWith("-") || !words.has(`${at} ${word}`.trim())) break;
        at = `${at} ${word}`.trim();
      }
      seen += 1;
      const next = asked[at === "" ? 0 : at.split(" ").length] ?? "";
      const hasOwn = [...words].some((each) => each.startsWith(`${at} `) && !each.includes("--"));
      if (at === "" || (hasOwn && /^[a-z]+$/.test(next))) found.push(`${page}: parley ${line}`);
      for (const [option] of line.matchAll(/(?<![\w-])--[a-z][a-z-]+/g))
        // What follows `start` is the daemon's own.
        if (at !== "start" && option !== "--json" && !line.includes(" -- ") && !words.has(`${at} ${option}`))
          found.push(`${page}: ${at} has no ${option}`);
    }
  expect(seen).toBeGreaterThan(100);
  expect(found).toEqual([]);
});
