// Planted bugs in who may decide, about what, how often and until when. Each is a piece of the source made
// wrong, and the suite named with it must fail. Minutes long, so it runs with PARLEY_LONG=1. One bug is known
// to go unnoticed: that the gate does not compare the sessions of call and approval. No test can reach it,
// because an approval's id is made of its turn, and rows with decisions wait in their own lane.
import { fileURLToPath } from "node:url";
import { plantedBugs, type PlantedBug } from "@parley/testkit";
import { afterAll, expect, test } from "vitest";

const suite = "message-path/approvals.test";
const mutants: readonly PlantedBug[] = [
  [
    "anybody decides",
    suite,
    "approvals/approvals.ts",
    "if (!mayDecide(found.approval, by, await approvers()))",
    "if (false)",
  ],
  [
    "whoever is an owner now decides",
    suite,
    "approvals/approvals.ts",
    "asked.includes(by.person) && people.includes",
    "people.includes",
  ],
  [
    "whoever was one when it was asked decides",
    suite,
    "approvals/approvals.ts",
    "&& people.includes(by.person)",
    "",
  ],
  [
    "the later of two answers counts",
    suite,
    "approvals/approvals.ts",
    "if (moved === null)\n        throw new Fault",
    "if (moved === undefined)\n        throw new Fault",
  ],
  [
    "an answer counts after its time",
    suite,
    "approvals/approvals.ts",
    "clock.now() < approval.expiresAtMs) return kept;",
    "true) return kept;",
  ],
  [
    "nothing ends by itself",
    suite,
    "approvals/approvals.ts",
    "if (watched.has(id)) return;",
    "if (!watched.has(id)) return;",
  ],
  [
    "a conversation that began anew still runs it",
    suite,
    "approvals/approvals.ts",
    "(await sessions.open(approval.session)).epoch === approval.epoch",
    "true",
  ],
  [
    "/stop leaves the request open",
    suite,
    "approvals/approvals.ts",
    'if (approval.state !== "open" || !isMeant) continue;',
    "if (approval.id !== null) continue;",
  ],
  [
    "what may not be kept is kept",
    suite,
    "approvals/approvals.ts",
    'verdict === "always" && approval.grant === null',
    "false",
  ],
  [
    "a death after the decision loses it",
    suite,
    "approvals/approvals.ts",
    "if (isFresh &&",
    "if (!isFresh &&",
  ],
  [
    "a used approval is used again",
    suite,
    "approvals/approval-gate.ts",
    '{ state: "used", used: { turn: turn.id, callId } }',
    "{}",
  ],
  [
    "an approval counts for another action",
    suite,
    "approvals/approval.ts",
    "JSON.stringify([turn, callId, hash])",
    "JSON.stringify([turn, callId])",
  ],
  [
    "what changed since runs all the same",
    suite,
    "approvals/approval-gate.ts",
    "if (approval.hash !== hash)",
    "if (false)",
  ],
  [
    "what was refused runs",
    suite,
    "approvals/approval-gate.ts",
    'return decision.kind === "run" ? go : refuse(`Not run: ${closedWords(approval)}`);',
    "return go;",
  ],
  [
    "where nobody can be asked it runs",
    suite,
    "approvals/approval-gate.ts",
    "if (surfaces.length === 0)\n      return refuse(",
    "if (surfaces.length === 0)\n      return true ? go : refuse(",
  ],
  ["the last look is for any action", suite, "approvals/approval-gate.ts", "&& approval.hash === hash;", ";"],
  ["the last look is for any call", suite, "approvals/approval-gate.ts", "&& isForThis &&", "&&"],
  [
    "an open request is as good as a given one",
    suite,
    "approvals/approval-gate.ts",
    'approval.state === "used" && isForThis',
    "isForThis",
  ],
  [
    "the card does not say who asks",
    suite,
    "approvals/approval-card.ts",
    "${fenced(askedByLines(approval))}",
    "",
  ],
  [
    "a name is shown raw",
    suite,
    "approvals/asked-by.ts",
    'visibleText(chars.slice(0, mostNameChars).join(""))',
    'chars.slice(0, mostNameChars).join("")',
  ],
  ["a name ends its quotes", suite, "approvals/asked-by.ts", `.replaceAll('"', "\\\\u{22}")`, ""],
  [
    "one person asks without end",
    suite,
    "approvals/open-limits.ts",
    "theirs >= mostOpen.perPerson",
    "theirs >= 99",
  ],
  [
    "one place asks without end",
    suite,
    "approvals/open-limits.ts",
    "here >= mostOpen.perPlace",
    "here >= 99",
  ],
  [
    "strangers ask without end",
    suite,
    "approvals/open-limits.ts",
    "others >= mostOpen.ofOthers",
    "others >= 99",
  ],
  [
    "many at once pass the limit",
    suite,
    "approvals/approvals.ts",
    "lastKept.then(() => keep(approval))",
    "keep(approval)",
  ],
  [
    "those for whom there is no room are not counted",
    suite,
    "approvals/approvals.ts",
    "refusals.note(",
    "void (",
  ],
  [
    "a grant is one agent's and everybody's",
    suite,
    "approvals/approval-store.ts",
    "agent === undefined ? grantPrefix : `${grantPrefix}${agent}:`",
    "grantPrefix",
  ],
  [
    "what was taken back is still allowed",
    suite,
    "approvals/approval-store.ts",
    "found !== undefined && (await cells.remove(found.key))",
    "found !== undefined",
  ],
];

const folder = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const planted = plantedBugs(folder("../.."), process.env, {
  name: "@parley/runner",
  root: folder("../../../../packages/runner"),
});
afterAll(planted.close);

/** A suite that hangs over its bug ends by its own limits. */
const mostMs = 300_000;

test(
  "the suite finds nothing where no bug is planted",
  async () => {
    expect(await planted.passes(suite)).toBe(true);
  },
  mostMs,
);

test.each(mutants)(
  "%s: noticed by %s",
  async (...bug) => {
    expect(await planted.isNoticed(bug)).toBe(true);
  },
  mostMs,
);
