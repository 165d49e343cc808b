// Eighty random installations beside the twenty of prompt-claims.test.ts; prompt-claims.long.test.ts goes on.
import { test } from "vitest";
import { claimOnlyWhatIsSo } from "./claims/many.ts";

test("eighty prompts claim only what is so", { timeout: 300_000 }, () => claimOnlyWhatIsSo(80));
