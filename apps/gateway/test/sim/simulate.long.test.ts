// Twenty thousand schedules that the short suite does not run.
import { test } from "vitest";
import { holds } from "./holds.ts";
import { messages } from "./search.ts";

test("twenty thousand more schedules keep the laws", { timeout: 3_600_000 }, () =>
  holds(messages, 100_000, 20_000),
);
