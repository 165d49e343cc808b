// Checks names and openings: words that say nothing about a purpose stand in no source file's name and in no
// export, and each file opens with a comment that says what it owns.
import path from "node:path";
import type { SourceFile } from "./source.ts";
import type { Findings, Tree } from "./tree.ts";

const empty = new Set(
  "manager helper util common shared misc base abstract impl wrapper data info service processor"
    .split(" ")
    .flatMap((word) => [word, `${word}s`]),
);

/** All that a process has under one config: units of the runner pick from it by name. */
const named = new Set(["Services"]);

/** "readSource" -> read, source; "HTTPServer" -> http, server. */
const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/);

const emptyWordIn = (name: string): string | undefined => wordsOf(name).find((word) => empty.has(word));

function findingsOf(file: SourceFile): string[] {
  const findings: string[] = [];
  const name = path.posix.basename(file.path).replace(/(\.\w+)?\.ts$/, "");
  const inPath = file.path
    .split("/")
    .slice(1)
    .map(emptyWordIn)
    .find((word) => word !== undefined);
  if (inPath !== undefined)
    findings.push(`${file.path}: "${inPath}" says nothing; name what the file is for`);
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) findings.push(`${file.path}: file names are kebab-case`);
  for (const exported of file.exports) {
    const word = emptyWordIn(exported);
    if (word !== undefined && !named.has(exported))
      findings.push(`${file.path} exports ${exported}: "${word}" says nothing; name what it is for`);
    if (/^I[A-Z][a-z]/.test(exported))
      findings.push(`${file.path} exports ${exported}: no I in front of an interface`);
  }
  if (file.exportsDefault) findings.push(`${file.path} has a default export: name it`);
  if (!file.opensWithComment)
    findings.push(`${file.path} does not say first what it owns: open with a comment`);
  for (const { text, line } of file.comments) {
    const mark = /\b(TODO|FIXME|XXX|HACK)\b/.exec(text)?.[0];
    if (mark !== undefined)
      findings.push(`${file.path}:${line} says ${mark}: do it, or say plainly what is missing`);
  }
  return findings;
}

export const nameFindings = (tree: Tree): Findings =>
  tree.files.filter((file) => file.area === "src").flatMap(findingsOf);
