// Whose a job may be: of which agents there are, for whom, and that it stays with its own.
import { expect, test } from "vitest";
import { virtualClock } from "@parley/testkit";
import { checkedJobs } from "../src/schedules/checked-job.ts";

const { made, next } = checkedJobs({
  agents: ["main", "other"],
  zone: "UTC",
  reach: (() => ({ ok: true })) as never,
  modelNamed: (() => null) as never,
  filesOf: (async () => []) as never,
  unknownTools: () => [],
  clock: virtualClock(),
});
const by = (isOwner: boolean, more: object = {}) =>
  ({
    agent: "main",
    kind: "person",
    sender: "telegram:7",
    isOwner,
    conversation: null,
    session: "agent:main:main",
    turn: "t",
    authority: isOwner ? "owner" : "member",
    tools: null,
    ...more,
  }) as never;
const job = (more: object = {}): object => ({
  name: "Tea",
  schedule: { kind: "every", every: "1h" },
  payload: { kind: "agentTurn", message: "Look." },
  target: { kind: "isolated" },
  delivery: { kind: "none" },
  ...more,
});

test("a job is of the agent that is named, which only an owner may name beside their own", async () => {
  await expect(made(job({ agentId: "nobody" }), by(true), "j1")).rejects.toMatchObject({
    code: "invalid",
    message: 'agentId: there is no agent "nobody"; there are main, other',
  });
  await expect(made(job({ agentId: "other" }), by(false), "j1")).rejects.toMatchObject({
    code: "denied",
    message: "agentId: only an owner's job may be another agent's",
  });
  const theirs = await made(job({ agentId: "other" }), by(true), "j1");
  expect([theirs.agent, theirs.id, theirs.owner]).toEqual([
    "other",
    "j1",
    expect.not.objectContaining({ agent: expect.anything() }),
  ]);
  expect((await made(job(), by(false), "j2")).agent).toBe("main");
});

test("an edit leaves a job with its agent, and takes over what its writer had read", async () => {
  const kept = await made(job(), by(true), "j1");
  await expect(next(kept, { agentId: "other" }, by(true))).rejects.toMatchObject({
    code: "invalid",
    message:
      'agentId: a job stays with its agent, here "main". Fix: make another job for "other" and remove this one',
  });
  expect((await next(kept, { agentId: "main", name: "Rum" }, by(true))).owner).toEqual(kept.owner);
  const after = await next(kept, { name: "Rum" }, by(true, { untrusted: "a.example" }));
  expect([after.name, after.owner]).toEqual(["Rum", { ...kept.owner, untrusted: "a.example" }]);
});

test("a job runs in no session of an agent that there is not; one that did is changed in other ways all the same", async () => {
  const gone = { target: { kind: "session", session: "agent:gone:main" } };
  const message =
    'target.session: "agent:gone:main" is a session of "gone", and there is no such agent; there are main, other';
  await expect(made(job(gone), by(true), "j1")).rejects.toMatchObject({ code: "invalid", message });
  const kept = await made(job(), by(true), "j1");
  await expect(next(kept, gone, by(true))).rejects.toMatchObject({ code: "invalid", message });
  const [before, there] = [
    { ...kept, target: { kind: "session", session: "agent:gone:main" } as const },
    { kind: "session", session: "agent:other:main" },
  ];
  expect((await next(before, { enabled: false }, by(true))).target).toBe(before.target);
  expect((await next(before, { target: there }, by(true))).target).toEqual(there);
});
