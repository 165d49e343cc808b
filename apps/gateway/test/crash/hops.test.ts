// A spread of the hops that hops.ci.test.ts goes through whole.
import { afterEach, expect, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { hopCell } from "./hop-cell.ts";
import { hops } from "./hops.ts";

afterEach(cleanUp);

const spread = [
  "telegram: the platform acted and did not answer",
  "telegram: the preview is shown, its answer swallowed",
  "telegram: a tool that writes is running",
  "discord: the platform answered, nothing recorded",
  "web: the model has answered, nothing committed",
];

const chosen = hops
  .map((hop) => ({ ...hop, at: `${hop.medium}: ${hop.name}` }))
  .filter(({ at }) => spread.includes(at));

test("the spread names hops that there are", () => expect(chosen.map(({ at }) => at)).toEqual(spread));

test.each(chosen)("killed on $at: both messages are answered once, or a double is flagged", hopCell);
