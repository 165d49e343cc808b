// Makes jobs for tests, as an owner's turn in a chat makes them.
import { newJob, type Job } from "../src/index.ts";

export const startMs = Date.parse("2026-11-23T08:00:00.000Z");

const conversation = { channel: "telegram", account: "default", kind: "dm", peer: "7" } as const;

export const context = {
  id: "brief",
  agent: "main",
  zone: "Europe/Berlin",
  nowMs: startMs,
  owner: {
    kind: "turn" as const,
    sender: "7",
    isOwner: true,
    conversation,
    session: "agent:main:main",
    turn: "turn-1",
    authority: "all",
    tools: null,
  },
};

export const written = {
  name: "Brief",
  schedule: { kind: "cron", expression: "0 9 * * 1-5" },
  payload: { kind: "agentTurn", message: "Say what is on today." },
} as const;

export function jobOf(fields: object = {}, nowMs = startMs): Job {
  const decision = newJob({ ...written, ...fields }, { ...context, nowMs });
  if (!decision.ok) throw new Error(JSON.stringify(decision.problems));
  return decision.job;
}
