// A thousand odd calls of the control plane's methods find no flaw inside.
import { afterEach, beforeEach, test } from "vitest";
import { cleanUp } from "./daemon.ts";
import { holdOddParams } from "./odd-params.ts";
import { world, type World } from "./world.ts";

let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  await cleanUp();
  await w.close();
});

test(
  "whatever a method is asked, the answer is a result or a clear error",
  () => holdOddParams(w, 1_000, 21),
  300_000,
);
