// Three thousand schedules of several nodes that the short suite does not run.
import { test } from "vitest";
import { holds } from "./holds.ts";
import { nodes } from "./search.ts";

test("three thousand more schedules of several nodes keep the laws", { timeout: 3_600_000 }, () =>
  holds(nodes, 200_000, 3_000),
);
