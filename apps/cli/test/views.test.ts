// The whole text of each command's answer, and all that it asks of the gateway, against views/*.txt. What an
// operator is meant to see anew is taken up by `vitest run --project @parley/cli views -u`, and read in the diff.
import { describe, expect, test } from "vitest";
import { fakeGateway, parley, Refusal, stateFolder } from "./fake-gateway.ts";
import { agents } from "./views/agents.ts";
import { kept } from "./views/kept.ts";
import { schedules } from "./views/schedules.ts";
import type { View } from "./views/view.ts";
import { work } from "./views/work.ts";

/** What differs between two runs: where the home is, and drawn ids. */
const unsteady = /[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g;

async function told(views: readonly View[]): Promise<string> {
  let shown: View | undefined;
  const gateway = await fakeGateway(({ method }) => {
    const answer = shown?.answers[method];
    if (answer instanceof Error) throw new Refusal("missing", answer.message);
    if (answer === undefined) throw new Refusal("internal", `the view has no answer to ${method}`);
    return answer;
  });
  const texts: string[] = [];
  for (const each of views) {
    shown = each;
    gateway.requests.length = 0;
    const { exitCode, out, err } = await parley(gateway.home, each.argv);
    const asked = gateway.requests
      .filter(({ method }) => method !== "connect")
      .map(({ method, params }) => `asks ${method} ${JSON.stringify(params)}\n`);
    const words = err === "" ? out : `${out}stderr:\n${err}`;
    texts.push(`$ parley ${each.argv.join(" ")}\n${asked.join("")}${words}exit ${exitCode}\n`);
  }
  return texts.join("\n").replaceAll(gateway.home, "<home>").replaceAll(unsteady, "<id>");
}

describe("the whole answer of every command about", () => {
  test.for([
    ["work", work],
    ["schedules", schedules],
    ["agents", agents],
    ["kept", kept],
  ] as const)("%s is the one in its file (after a wanted change: run with -u)", async ([name, views]) => {
    await expect(await told(views)).toMatchFileSnapshot(`views/${name}.txt`);
  });
});

test("the help of every command names its words, its options with their defaults, and what it is for", async () => {
  const home = stateFolder(null);
  const { out } = await parley(home, ["completion", "fish"]);
  const commands = new Set([...out.matchAll(/__parley_at "([^"]*)"/g)].map(([, path = ""]) => path));
  const texts: string[] = [];
  for (const path of commands) {
    const argv = [...path.split(" "), "--help"].filter((word) => word !== "");
    texts.push(`$ parley ${argv.join(" ")}\n${(await parley(home, argv)).out}`);
  }
  await expect(texts.join("\n")).toMatchFileSnapshot("views/help.txt");
});
