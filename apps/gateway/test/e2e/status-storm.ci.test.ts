// A hundred questions for the daemon's state at once take nothing from the people who write meanwhile.
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
  "twenty `parley status` and eighty connections ask at once while eight people write: all are answered, in order and once",
  () => statusStorm(w, { processes: 20, sockets: 80 }),
  300_000,
);
