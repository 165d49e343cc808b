// kill -9 at every labelled hop of a message, on Telegram, on Discord and on the web. The loopback lives inside the process, so no kill can come between
// it and the daemon: the simulator covers it.
import { afterEach, describe, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { hopCell } from "./hop-cell.ts";
import { hops } from "./hops.ts";

afterEach(cleanUp);

describe.each(["telegram", "discord", "web"] as const)("killed on %s when", (medium) => {
  test.each(hops.filter((hop) => hop.medium === medium))(
    "$name, both messages are answered once, or a double is flagged",
    hopCell,
  );
});
