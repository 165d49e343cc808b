// kill -9 at the labelled hops of a message, on Telegram, on Discord and on the web: each instant on one
// medium at least, and each medium at many. hops.test.ts has taken some of them, hops.long.test.ts takes
// those that are like another one. The loopback lives inside the process, so no kill can come between it and
// the daemon: the simulator covers it.
import { afterEach, describe, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { hopCell } from "./hop-cell.ts";
import { hops, isInSpread } from "./hops.ts";

afterEach(cleanUp);

describe.each(["telegram", "discord", "web"] as const)("killed on %s when", (medium) => {
  test.each(hops.filter((hop) => hop.medium === medium && hop.alike !== true && !isInSpread(hop)))(
    "$name, both messages are answered once, or a double is flagged",
    hopCell,
  );
});
