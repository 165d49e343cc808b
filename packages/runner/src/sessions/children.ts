// Spawns sub-agents and looks after them. A child is a session of its own whose first row is written with the
// parent's step; its end is handed back by answering-turns.ts. What a child may do is what its parent's turn
// may, and less: its row carries the same people, place and authority.
import { isAbsolute } from "node:path";
import { plainLine } from "@parley/agent";
import { Fault, parseSessionKey, type SessionKey } from "@parley/protocol";
import { type Children, type SpawnRequest, type ToolScope } from "@parley/tools";
import { internalRow, marked, rowIn } from "../internal-row.ts";
import { modelCatalog } from "../models/model-catalog.ts";
import { agentIn } from "../prepare-turn.ts";
import type { Services } from "../turn-scope.ts";
import { askingTurn } from "./asker.ts";
import { childOf, depthOf, newChild, runsAgain, type Child } from "./child-registry.ts";
import { checkThread, threadOpening, waitingTask } from "./child-threads.ts";
import { killChild } from "./end-children.ts";
import { checkRoom, checkSpawn, othersOf } from "./may-spawn.ts";
import { readIn, readThere, told } from "./read-there.ts";
import { transcriptLines } from "./transcript-lines.ts";

type ChildServices = Pick<
  Services,
  | "config"
  | "models"
  | "sessions"
  | "inbox"
  | "outbox"
  | "cells"
  | "children"
  | "threads"
  | "channel"
  | "running"
  | "redaction"
  | "placeOf"
  | "clock"
>;

const taskChars = 200;
const labelChars = 60;
const forkChars = 40_000;
const forkEntries = 200;

export function childrenPort(services: ChildServices): Children {
  const { config, sessions, children, redaction, clock } = services;
  const catalog = modelCatalog(config, services.models);
  const agentOf = agentIn(config);

  async function childNamed(scope: ToolScope, name: string): Promise<Child> {
    const below = await children.below(scope.session);
    const found = below.find(({ id }) => id === name) ?? below.find(({ label }) => label === name);
    if (found !== undefined) return found;
    const known = below.slice(0, 10).map(({ id, label }) => `${id} (${label})`);
    throw new Fault(
      "missing",
      `no sub-agent of this session is called ${JSON.stringify(name.slice(0, 80))}; there ${known.length === 0 ? "is none" : `are ${known.join(", ")}`}`,
    );
  }

  async function contextFor(
    scope: ToolScope,
    { context, attachments }: SpawnRequest,
    agent: string,
  ): Promise<string> {
    const outside = attachments.find((path) => isAbsolute(path) || path.split(/[\\/]/).includes(".."));
    if (outside !== undefined)
      throw new Fault("invalid", `attachments are paths in the workspace, not ${JSON.stringify(outside)}`);
    if (attachments.length > 0 && agent !== scope.agent)
      throw new Fault(
        "invalid",
        "attachments go to sub-agents of the same agent: another one has its own workspace",
      );
    const files =
      attachments.length === 0 ? [] : [`Files for it in the workspace: ${attachments.join(", ")}`];
    if (context === "isolated") return files.map((line) => `\n\n${line}`).join("");
    const session = await sessions.open(scope.session);
    const stored = await sessions.transcript(scope.session, { newest: true, limit: forkEntries });
    const said = transcriptLines(
      stored.filter(({ epoch }) => epoch === session.epoch),
      redaction,
    ).join("\n");
    const kept = said.length <= forkChars ? said : `…${said.slice(-forkChars)}`;
    return [...files, `The conversation so far, for context only:\n${kept}`]
      .map((part) => `\n\n${part}`)
      .join("");
  }

  return {
    agents: ({ agent }) => [agent, ...othersOf(config, agent)],
    async spawn(scope, request) {
      const agentId = request.agentId ?? scope.agent;
      checkSpawn(config, scope, agentId);
      const inThread = request.thread ?? false;
      const { id, session } = childOf(scope, agentId, inThread);
      const limits = config.agents.defaults.subagents;
      const wanted = request.model ?? limits.model;
      const model = wanted === undefined ? null : await modelNamed(agentId, wanted);
      await checkRoom(services, scope.session, id);
      const { began, asker: askerFor } = await askingTurn(services, scope);
      const asker = askerFor("push");
      if (inThread) {
        if (!config.session.threadBindings.enabled)
          throw new Fault(
            "denied",
            "sub-agents get no threads of their own here (session.threadBindings.enabled): spawn it without thread",
          );
        checkThread(services, scope, asker.unseen !== true);
      }
      const label = lineOf(request.label ?? "") || firstWords(request.task) || "sub-agent";
      if (lineOf(request.task) === "")
        throw new Fault("invalid", "the task says nothing: write all that the sub-agent needs to know");
      const text = `Task from session ${scope.session}: ${request.task}${await contextFor(scope, request, agentId)}`;
      const timeoutSeconds = request.timeoutSeconds ?? (limits.runTimeoutSeconds || undefined);
      const thinking = request.thinking ?? limits.thinking;
      const row = internalRow(
        { ...began, lane: session, pool: "subagent" },
        `task:${id}`,
        text,
        {
          kind: "task",
          id,
          turn: scope.turn,
          asker,
          ...marked(scope),
          ...(inThread ? { unseen: false } : {}),
          run: {
            label,
            ...(model === null ? {} : { model }),
            ...(thinking === undefined ? {} : { thinking }),
            ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
          },
        },
        clock.now(),
      );
      const opening = inThread ? threadOpening({ id, label, task: request.task }, scope, row) : null;
      const child: Child = {
        v: 1,
        id,
        session,
        parent: scope.session,
        turn: scope.turn,
        label,
        task: request.task.slice(0, taskChars),
        mode: request.mode,
        model,
        ...(opening === null ? {} : { thread: opening.thread }),
        startedAtMs: clock.now(),
        asker,
        runs: 1,
        killed: false,
        end: null,
      };
      if (opening !== null)
        return {
          text: `Sub-agent ${id} (${label}) begins in a thread of its own, which opens by itself: it answers there, and people talk with it there. Its result is told here too, by itself, as a [System Message].`,
          effects: {
            cells: [newChild(child), ...opening.cells],
            deliveries: opening.deliveries,
          },
        };
      return {
        text: `Sub-agent ${id} (${label}) has the task. Its result comes here by itself as a [System Message]; do not wait for it with other calls.`,
        effects: { rows: [row], cells: [newChild(child)] },
      };
    },
    async list({ session }) {
      const below = await children.below(session);
      if (below.length === 0) return "This session has no sub-agents.";
      return below.map((child) => childLine(child, clock.now())).join("\n");
    },
    async log(scope, name, limit) {
      const child = await childNamed(scope, name);
      const stored = await sessions.transcript(child.session as SessionKey, { newest: true, limit });
      const lines = transcriptLines(stored, redaction);
      const line = childLine(child, clock.now());
      if (lines.length === 0) return told(`${line}\nNothing is logged yet.`, undefined);
      const session = await sessions.open(child.session as SessionKey);
      return told([line, ...lines].join("\n"), readIn(stored) ?? (await readThere(sessions, session)));
    },
    async steer(scope, name, message) {
      const child = await childNamed(scope, name);
      const again = child.end !== null;
      if (again && child.mode === "run")
        throw new Fault(
          "conflict",
          `sub-agent ${child.id} has ended, and it was spawned for one run: spawn another`,
        );
      if (again) await checkRoom(services, child.parent, child.id);
      const { began, asker } = await askingTurn(services, scope);
      const id = `${child.id}/${scope.turn}/${scope.callId}`;
      const lane = child.session as SessionKey;
      if ((await waitingTask(services.cells, child.id)) !== null)
        throw new Fault("conflict", `the thread of sub-agent ${child.id} is not open yet: try again later`);
      const [thread] = services.threads.threadsOf(lane);
      const written = internalRow(
        { ...began, lane, pool: "subagent" },
        `steer:${id}`,
        `From session ${scope.session}: ${message}`,
        {
          kind: "message",
          id,
          turn: scope.turn,
          ...marked(scope),
          ...(thread === undefined ? {} : { unseen: false }),
        },
        clock.now(),
      );
      const row = thread === undefined ? written : rowIn(written, thread);
      return {
        text: again
          ? `Sub-agent ${child.id} has more work; its result comes here by itself.`
          : `Sub-agent ${child.id} reads this before its next step.`,
        effects: { rows: [row], cells: again ? [runsAgain(child, asker("push"))] : [] },
      };
    },
    async kill(scope, name) {
      const meant =
        name === "all"
          ? (await children.below(scope.session)).filter(({ parent }) => parent === scope.session)
          : [await childNamed(scope, name)];
      const ended = (
        await Promise.all(meant.map((child) => killChild(services, child, "killed by its parent")))
      ).flat();
      return ended.length === 0
        ? "No sub-agent was running."
        : `Killed: ${ended.map(({ id, label }) => `${id} (${label})`).join(", ")}.`;
    },
  };

  async function modelNamed(agentId: string, word: string): Promise<string> {
    const found = await catalog.find(agentOf(agentId), word);
    if ("ref" in found) return found.ref;
    const near = found.nearest.length === 0 ? "" : `; near it: ${found.nearest.join(", ")}`;
    throw new Fault("invalid", `there is no model ${JSON.stringify(word.slice(0, 80))}${near}`);
  }
}

function firstWords(task: string): string {
  const line = lineOf(task.trim().split("\n")[0] ?? "");
  return line.length <= 40 ? line : `${line.slice(0, 40).trimEnd().toWellFormed()}…`;
}

/** A name that people and models read stays one line and shows as what it is. */
function lineOf(text: string): string {
  return plainLine(text, labelChars);
}

export function childLine(
  { id, label, session, model, startedAtMs, end, thread }: Child,
  nowMs: number,
): string {
  const seconds = Math.max(0, Math.round(((end?.atMs ?? nowMs) - startedAtMs) / 1_000));
  const state = end === null ? "running" : `${end.state}${end.reason === null ? "" : ` (${end.reason})`}`;
  const { agent } = parseSessionKey(session);
  const facts = [
    `agent ${agent}`,
    ...(model === null ? [] : [model]),
    ...(thread === undefined ? [] : ["in a thread"]),
    `${seconds} s`,
    ...(end === null ? [] : [`${end.tokens} tokens`]),
  ];
  return `${"  ".repeat(depthOf(session) - 1)}${id} ${label}: ${state}, ${facts.join(", ")}`;
}
