// Finds tests that do not run: no .only, no .skip, no .todo, and no mocks of our own modules. A test that
// cannot run here says why: `describe.skipIf(lacks("redis-server"))`, a contract's `skip: [{ case, reason
// }]`, `context.skip("reason")`.
import type { Findings, Tree } from "./tree.ts";
import type { SourceFile } from "./source.ts";

const runners = /^(test|it|describe|suite)(\.\w+)*\.(only|skip|todo)$/;
const mocks = /^vi\.(mock|doMock)$/;

function findingsOf(file: SourceFile): string[] {
  const findings = new Set<string>();
  for (const use of file.uses) {
    const word = runners.exec(use.name)?.[3];
    // A contract suite passes its callers' skips on; contracts.ts checks their reasons.
    if (word === "skip" && /\/test\/contract\b/.test(file.path)) continue;
    if (word !== undefined) findings.add(`${file.path}:${use.line} has .${word}: run it, or remove it`);
    if (mocks.test(use.name))
      findings.add(`${file.path}:${use.line} mocks a module: take it as an argument instead`);
    if (/^(context|ctx)\.skip$/.test(use.name) && use.args === 0)
      findings.add(`${file.path}:${use.line} skips without a reason: context.skip("why")`);
  }
  return [...findings];
}

export const suiteFindings = (tree: Tree): Findings =>
  tree.files.filter((file) => file.area === "test").flatMap(findingsOf);
