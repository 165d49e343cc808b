// Goes on where simulate.test.ts ends: the next seeds of each kind of plan, judged by the same laws.
import { describe, test } from "vitest";
import { holds, patienceMs } from "./holds.ts";
import { approvals, deaths, messages } from "./search.ts";

describe("the message path", () => {
  test("keeps its laws over the next schedules", { timeout: patienceMs }, () => holds(messages, 121, 580));

  test("buries what kills the process and nothing else", { timeout: patienceMs }, () =>
    holds(deaths, 41, 110),
  );

  test("parks, is decided and goes on", { timeout: patienceMs }, () => holds(approvals, 81, 320));
});
