// What is stored of a person, as the command line shows it: a dry run, the deed, and where it was written.
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { fakeGateway, parley } from "./fake-gateway.ts";

const told = {
  person: "telegram:7",
  ids: ["telegram:7"],
  sessions: ["agent:main:telegram:dm:7"],
  shared: ["agent:main:telegram:group:1"],
  counts: { messages: 3, pairings: 1 },
  rewritten: 2,
  names: ["Eve"],
  busy: [],
  notes: ["copies outside stay"],
};

test("forget person shows first and does it with --yes", async () => {
  const { home, requests } = await fakeGateway(({ params }) => ({
    ...told,
    done: (params as { confirm: boolean }).confirm,
  }));
  const plan = await parley(home, ["forget", "person", "telegram:7"]);
  expect(plan.exitCode).toBe(0);
  expect(plan.out).toContain("3  messages");
  expect(plan.out).toContain("Nothing is changed. To do it, run it again with --yes.");
  const done = await parley(home, ["forget", "person", "telegram:7", "--yes"]);
  expect(done.out).toContain("Forgotten for good, of telegram:7:");
  expect(done.out).not.toContain("Nothing is changed");
  const json = await parley(home, ["forget", "person", "telegram:7", "--json"]);
  expect(JSON.parse(json.out)).toMatchObject({ done: false, counts: { messages: 3 } });
  expect(
    requests.flatMap(({ method, params }) =>
      method === "people.forget" ? [(params as { confirm: boolean }).confirm] : [],
    ),
  ).toEqual([false, true, false]);
});

test("export person hands the gateway a whole path", async () => {
  const { home, requests } = await fakeGateway(({ params }) => ({
    ...told,
    path: (params as { path: string }).path,
    bytes: 42,
  }));
  const { out, exitCode } = await parley(home, ["export", "person", "telegram:7", "out.tar"]);
  expect(exitCode).toBe(0);
  expect(out).toBe(`Wrote ${resolve("out.tar")} (42 bytes): 3 messages, 1 pairings.\n`);
  expect(requests.find(({ method }) => method === "people.export")?.params).toEqual({
    person: "telegram:7",
    path: resolve("out.tar"),
  });
});
