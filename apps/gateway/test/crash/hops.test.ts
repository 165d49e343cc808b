// A spread of the hops; hops.ci.test.ts goes through the others.
import { afterEach, expect, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { hopCell } from "./hop-cell.ts";
import { hops, isInSpread, spread } from "./hops.ts";

afterEach(cleanUp);

const chosen = hops.filter(isInSpread).map((hop) => ({ ...hop, at: `${hop.medium}: ${hop.name}` }));

test("the spread names hops that there are", () => expect(chosen.map(({ at }) => at)).toEqual(spread));

test.each(chosen)("killed on $at: both messages are answered once, or a double is flagged", hopCell);
