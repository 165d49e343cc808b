// kill -9 at the hops that are like another one: at the same instant on another medium, or one beside it. The
// others: hops.test.ts and hops.ci.test.ts.
import { afterEach, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { hopCell } from "./hop-cell.ts";
import { hops } from "./hops.ts";

afterEach(cleanUp);

test.each(hops.filter((hop) => hop.alike === true))(
  "killed on $medium when $name, both messages are answered once, or a double is flagged",
  hopCell,
);
