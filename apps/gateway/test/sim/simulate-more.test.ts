// More schedules, in a file of their own: another worker runs them beside the first thousand.
import { test } from "vitest";
import { holds, patienceMs } from "./holds.ts";
import { messages } from "./search.ts";

test("a thousand more schedules keep the laws", { timeout: patienceMs }, () => holds(messages, 1_001, 1_000));
