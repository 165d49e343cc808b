// A hundred processes of `parley status` at once, on a daemon that people write to.
import { afterEach, beforeEach, test } from "vitest";
import { cleanUp } from "./daemon.ts";
import { statusStorm } from "./status-storm.ts";
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
  "a hundred `parley status` at once while eight people write: all are answered, in order and once",
  () => statusStorm(w, { processes: 100, sockets: 0 }),
  300_000,
);
