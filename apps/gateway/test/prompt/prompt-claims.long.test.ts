// Six hundred random installations, drawn anew each time: no section of any of their prompts claims what is
// not so.
import { test } from "vitest";
import { claimOnlyWhatIsSo } from "./claims/many.ts";

test("six hundred prompts claim only what is so", { timeout: 3_600_000 }, () => claimOnlyWhatIsSo(600));
