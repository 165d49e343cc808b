// Holds a prompt against its claims: every line of it is a claim that holds, or asks for something without
// claiming anything.
import { promptSections } from "@parley/agent";
import { contextHolds, fileClaims } from "./file-claims.ts";
import { catalogue } from "@parley/tools";
import { stableClaims, type Claim } from "./stable-claims.ts";
import type { Situation } from "./situation.ts";
import { advice, volatileClaims } from "./volatile-claims.ts";

export const claims: readonly Claim[] = [...stableClaims, ...fileClaims, ...volatileClaims];

/**
 * By title; what stands before the first heading is "". Files of the workspace have headings of their own, so
 * theirs end with the zone.
 */
function sectionsIn(prompt: string): ReadonlyMap<string, string> {
  const volatileFrom = Math.max(prompt.indexOf("\n# Project Context\n"), 0);
  const heads = promptSections
    .filter(({ level }) => level > 0)
    .flatMap(({ title, level, zone }) => {
      const head = `\n${"#".repeat(level)} ${title}\n`;
      const at = zone === "stable" ? prompt.indexOf(head) : prompt.indexOf(head, volatileFrom);
      return at === -1 ? [] : [{ title, at, from: at + head.length }];
    })
    .toSorted((a, b) => a.at - b.at);
  return new Map([
    ["", prompt.slice(0, heads[0]?.at)],
    ...heads.map(({ title, from }, n): [string, string] => [title, prompt.slice(from, heads[n + 1]?.at)]),
  ]);
}

/**
 * Ids of claims that do not hold, and lines that nobody has looked at. `met` is told which claims were there.
 */
export async function falseClaims(
  prompt: string,
  s: Situation,
  met: (id: string) => void = () => {},
): Promise<string[]> {
  const situation = { ...s, prompt };
  const wrong: string[] = [];
  for (const [section, text] of sectionsIn(prompt)) {
    if (section === "Project Context") wrong.push(...(await contextHolds(text, situation)));
    for (const line of linesOf(text)) {
      const own = claims
        .filter((claim) => claim.section === section)
        .flatMap((claim) => {
          const found = claim.line.exec(line);
          return found === null ? [] : [{ claim, found }];
        });
      const isFile = section === "Project Context";
      if (own.length === 0 && !isFile && !advice.some((each) => each.test(line)))
        wrong.push(`not looked at, in "${section}": ${line}`);
      for (const { claim, found } of own) {
        met(claim.id);
        if (!(await claim.holds(found, situation))) wrong.push(`${claim.id}: ${line}`);
      }
    }
    if (section !== "Project Context") wrong.push(...foreignTools(text, situation));
  }
  // The host's path of a folder that tools do not reach.
  const elsewhere = prompt.replaceAll(/<location>.*<\/location>/g, "");
  if (s.access === "none" && elsewhere.includes(s.workspace))
    wrong.push("workspace.hidden: its path stands in the prompt");
  return wrong;
}

/** An entry of a skill is one line. */
function linesOf(text: string): string[] {
  const lines: string[] = [];
  for (const line of text.split("\n")) {
    if (/^ {4}<|^ {2}<\/skill>/.test(line)) lines.push(`${lines.pop() ?? ""}\n${line}`);
    else lines.push(line);
  }
  return lines.filter((line) => line.trim() !== "");
}

/** A tool of the catalogue that is named in backticks is one that the model was handed. */
function foreignTools(text: string, s: Situation): string[] {
  const named = [...text.matchAll(/`([a-z_]+)`/g)].map(([, name = ""]) => name);
  const foreign = named.filter(
    (name) => catalogue.some(({ id }) => id === name) && s.tool(name) === undefined,
  );
  return foreign.map((name) => `tools.named: ${name}`);
}
