// Two hundred deaths in the middle of writing notes and indexing them.
import { test } from "vitest";
import { killsOfMemory } from "./memory-kill.ts";

test("kill -9 two hundred times loses and doubles no note", () => killsOfMemory(200, 2), 3_600_000);
