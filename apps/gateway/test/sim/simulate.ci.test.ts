// Goes on where simulate.test.ts and simulate-nodes.test.ts end: the next seeds of each kind of plan, judged
// by the same laws. Of the bugs that planted.ci.test.ts plants the latest is found by seed 97, so these go to
// 120, and less far where what is planted was found by the third; simulate.long.test.ts goes on.
import { describe, test } from "vitest";
import { holds, patienceMs } from "./holds.ts";
import { approvals, deaths, messages, nodes } from "./search.ts";

describe("the message path", () => {
  test("keeps its laws over the next schedules", { timeout: patienceMs }, () => holds(messages, 13, 108));

  test("buries what kills the process and nothing else", { timeout: patienceMs }, () => holds(deaths, 5, 26));

  test("parks, is decided and goes on", { timeout: patienceMs }, () => holds(approvals, 21, 80));

  test("keeps its laws on several nodes", { timeout: patienceMs }, () => holds(nodes, 21, 20));
});
