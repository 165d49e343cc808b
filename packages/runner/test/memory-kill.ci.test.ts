// Deaths in the middle of writing notes and indexing them; the long tier has two hundred.
import { test } from "vitest";
import { killsOfMemory } from "./memory-kill.ts";

test(
  "kill -9 while notes are written and indexed loses and doubles none",
  () => killsOfMemory(8, 1),
  300_000,
);
