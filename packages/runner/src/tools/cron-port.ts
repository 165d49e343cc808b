// Lets an agent make and look after jobs in the name of the people whose words its turn follows: a job that
// it makes has their rights and speaks in their conversation. What changes something is data, written with
// the call's result under an id made from turn and call.
import { createHash } from "node:crypto";
import { isProgram } from "@parley/access";
import { Fault, parseConversationKey } from "@parley/protocol";
import { jobPrefix, previewOf, type Job } from "@parley/schedules";
import type { Done, ScheduledJobs, ToolScope } from "@parley/tools";
import { jobLine, nextOf } from "../schedules/job-line.ts";
import type { JobMaker } from "../schedules/job-maker.ts";
import { manualId } from "../schedules/manual-run.ts";
import { slotRow } from "../schedules/slot-row.ts";
import type { Services } from "../turn-scope.ts";

export function cronPort(services: Pick<Services, "schedules" | "clock">): ScheduledJobs {
  const { schedules, clock } = services;

  async function add(scope: ToolScope, by: JobMaker, asked: unknown): Promise<Done> {
    const job = await schedules.made(needed(asked, "job"), by, idOf(scope));
    return { text: `Added. ${described(job)}`, effects: { cells: [await schedules.adding(job)] } };
  }

  async function update(by: JobMaker, id: string, asked: unknown): Promise<Done> {
    const { kept, next } = await schedules.edited(id, needed(asked, "patch"), by);
    return { text: `Changed. ${described(next)}`, effects: { cells: [schedules.jobs.writing(kept, next)] } };
  }

  function described(job: Job): string {
    const nowMs = clock.now();
    const { next } = previewOf(job.schedule, nowMs, 3);
    const target = job.target.kind === "session" ? job.target.session : job.target.kind;
    const { delivery } = job;
    const tells = delivery.kind === "announce" ? "announced in the conversation" : delivery.kind;
    return [
      jobLine(job, nowMs),
      `Runs in: ${target}; its answer: ${tells}.`,
      ...(next.length === 0 ? [] : [`Next: ${next.map(({ local }) => local).join("; ")}.`]),
    ].join("\n");
  }

  return {
    async act(scope, { action, job, patch, jobId, limit, text, mode }): Promise<Done> {
      const by = makerOf(scope);
      const nowMs = clock.now();
      const id = (): string => needed(jobId, "jobId");
      switch (action) {
        case "list": {
          const all = await schedules.list(by);
          return {
            text:
              all.length === 0 ? "There are no jobs." : all.map((each) => jobLine(each, nowMs)).join("\n"),
          };
        }
        case "status": {
          const all = await schedules.list(by);
          const next = all.find((each) => nextOf(each, nowMs) !== null);
          const failing = all.filter(({ state }) => state.consecutiveErrors > 0).length;
          return {
            text: `${all.length} jobs, ${failing} failing. ${next === undefined ? "Nothing is due." : `Next: ${jobLine(next, nowMs)}.`} Now: ${new Date(nowMs).toISOString()}; time zone ${schedules.zone}.`,
          };
        }
        case "get": {
          const { job: found } = await schedules.get(id(), by);
          const { payload } = found;
          const what =
            payload.kind === "systemEvent" ? payload.text : "message" in payload ? payload.message : "";
          return { text: `${described(found)}\nDoes: ${what}` };
        }
        case "add":
          return add(scope, by, job);
        case "update":
          return update(by, id(), patch ?? job);
        case "remove": {
          const { job: gone, cell } = await schedules.removable(id(), by);
          return {
            text: `Removed ${gone.id} (${gone.name}).`,
            effects: { cells: [{ key: `${jobPrefix}${gone.id}`, value: null, expect: cell }] },
          };
        }
        case "run": {
          const { job: meant } = await schedules.removable(id(), by);
          const slot = manualId(meant.id, idOf(scope));
          const row = slotRow(meant, { id: slot, instantMs: nowMs }, await schedules.rightsNow(meant), nowMs);
          return { text: `${meant.id} runs now, as ${slot}.`, effects: { rows: [row] } };
        }
        case "runs": {
          const { job: meant } = await schedules.get(id(), by);
          const { now, ended } = await schedules.runs(meant.id, limit);
          const lines = [
            ...now.map(({ instantMs, state }) => `${iso(instantMs)} ${state}`),
            ...ended.map(
              ({ instantMs, outcome, reason }) =>
                `${iso(instantMs)} ${outcome}${reason === null ? "" : `: ${reason}`}`,
            ),
          ];
          return { text: lines.length === 0 ? "It has not run yet." : lines.join("\n") };
        }
        case "wake": {
          const row = await schedules.wake({ text: needed(text, "text"), mode }, by, idOf(scope));
          const kept = mode === "next-heartbeat" ? schedules.keeping(row, by.agent) : null;
          return kept === null
            ? { text: "The session is told now.", effects: { rows: [row] } }
            : { text: "The session is told with its next heartbeat.", effects: { cells: [kept] } };
        }
      }
    },
  };
}

/** The same for a call that runs again after a crash. */
function idOf({ turn, callId }: ToolScope): string {
  return createHash("sha256")
    .update(JSON.stringify([turn, callId, "cron"]))
    .digest("hex")
    .slice(0, 12);
}

function makerOf(scope: ToolScope): JobMaker {
  const { agent, session, turn, authority, by, tools = null } = scope;
  const address = parseConversationKey(scope.conversation);
  const [sender] = by.senders;
  if (sender === undefined)
    throw new Fault("denied", "nobody asked for this turn, so nobody could own the job");
  return {
    agent,
    kind: "turn",
    sender,
    isOwner: by.owner,
    conversation: isProgram(address) ? null : address,
    session,
    turn,
    authority,
    tools: tools === null ? null : [...tools],
    ...(scope.untrusted === undefined ? {} : { untrusted: scope.untrusted }),
  };
}

function needed<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Fault("invalid", `this action needs ${name}`);
  return value;
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
