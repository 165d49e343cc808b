// Twenty thousand schedules that the short suite does not run, and many of the two rarer kinds.
import { test } from "vitest";
import { holds } from "./holds.ts";
import { approvals, deaths, messages } from "./search.ts";

const timeout = 3_600_000;

test("twenty thousand more schedules keep the laws", { timeout }, () => holds(messages, 100_000, 20_000));

test("what kills the process is buried and nothing else, five hundred times more", { timeout }, () =>
  holds(deaths, 31, 500),
);

test("a thousand more approvals are parked, decided and used once", { timeout }, () =>
  holds(approvals, 101, 1_000),
);
