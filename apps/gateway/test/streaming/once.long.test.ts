// The long run of once.ts: other texts each time, with the seed in the failure. PARLEY_LONG=1.
import { test } from "vitest";
import { everyTextOnce } from "./once.ts";

test("a thousand streamed answers stand in their chats once and whole", { timeout: 1_800_000 }, async () => {
  for (let round = 0; round < 20; round += 1) await everyTextOnce(50, (Date.now() + round) % 2 ** 31);
});
