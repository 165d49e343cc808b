// The short run of once.ts; once.long.test.ts has the long one.
import { test } from "vitest";
import { everyTextOnce } from "./once.ts";

test("thirty streamed answers stand in their chats once and whole, through lost edits and rate limits", () =>
  everyTextOnce(30, 20_260_101));
