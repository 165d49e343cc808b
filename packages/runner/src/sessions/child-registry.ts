// Keeps what is known of each sub-agent: who spawned it, for what, and how it ended. A child is one cell,
// written in the transaction of the parent's step and again in that of its own end, so that the registry says
// what the rows say. Depth stands in the child's id, so that no lookup is needed to know it.
import { createHash } from "node:crypto";
import { askerSchema, formatSessionKey, parseSessionKey, type SessionKey } from "@parley/protocol";
import type { Cell, Cells, CellWrite } from "@parley/store";
import { z } from "zod";

/** How a turn ended, as its asker is told. */
export interface AskedEnd {
  readonly state: "answered" | "silent" | "failed" | "stopped" | "lost";
  /** The turn's words; empty when it had none. */
  readonly text: string;
  /** Why it failed or was stopped. */
  readonly reason: string | null;
  /** Tokens that the answering session has used so far. */
  readonly tokens: number;
  /** Where text of strangers came from that the turn read. */
  readonly untrusted?: string;
}

const childSchema = z.object({
  v: z.literal(1),
  id: z.string(),
  session: z.string(),
  /** The session of the turn that spawned it. */
  parent: z.string(),
  turn: z.string(),
  label: z.string(),
  task: z.string(),
  mode: z.enum(["run", "session"]),
  model: z.string().nullable(),
  /** The delivery that opens the thread it works in, and the conversation that it was spawned in. */
  thread: z.object({ delivery: z.string(), from: z.string() }).optional(),
  startedAtMs: z.number(),
  asker: askerSchema,
  /** 1, and one more for each time that it was given more work after its end. */
  runs: z.number(),
  /** Set before it is ended from outside, so that nothing that ends with it wakes it again. */
  killed: z.boolean(),
  /** Whoever stopped it stopped its parent too, so that its end begins no turn there. */
  quiet: z.boolean().optional(),
  /** Null while it runs. A session that was asked again runs again. */
  end: z
    .object({
      state: z.enum(["answered", "silent", "failed", "stopped", "lost"]),
      reason: z.string().nullable(),
      tokens: z.number(),
      atMs: z.number(),
    })
    .nullable(),
});

export type Child = z.infer<typeof childSchema>;

export interface ChildRegistry {
  get(id: string): Promise<Child | null>;
  /** Newest first. */
  all(): Promise<readonly Child[]>;
  /** Children of these sessions and their children, the nearest first. */
  below(parent: string): Promise<readonly Child[]>;
  /** Marks it before it is ended from outside. `quiet`: its end begins no turn of its parent. */
  kill(child: Child, quiet?: boolean): Promise<void>;
  end(id: string, end: AskedEnd, nowMs: number): Promise<void>;
}

const prefix = "child:";
/** What a store gives at once; more are listed by the digits that their ids begin with. */
const mostListed = 1_000;
const hexDigits = Array.from({ length: 16 }, (_, digit) => digit.toString(16));
/** How long an ended child is listed; its transcript stays as long as any. */
const listedMs = 7 * 86_400_000;

export function childRegistry(cells: Pick<Cells, "get" | "put" | "list">): ChildRegistry {
  const under = async (start: string): Promise<readonly Cell[]> => {
    const found = await cells.list(start, mostListed);
    if (found.length < mostListed) return found;
    return (await Promise.all(hexDigits.map((digit) => under(start + digit)))).flat();
  };
  const all = async (): Promise<readonly Child[]> =>
    (await under(prefix))
      .flatMap(({ value }) => readChild(value) ?? [])
      .toSorted((a, b) => b.startedAtMs - a.startedAtMs);
  const get = async (id: string): Promise<Child | null> => {
    const cell = await cells.get(`${prefix}${id}`);
    return cell === null ? null : readChild(cell.value);
  };
  return {
    get,
    all,
    async below(parent) {
      const known = await all();
      const found: Child[] = [];
      let parents = [parent];
      while (parents.length > 0) {
        const next = known.filter((child) => parents.includes(child.parent) && !found.includes(child));
        found.push(...next);
        parents = next.map(({ session }) => session);
      }
      return found;
    },
    async kill({ id }, quiet = false) {
      const key = `${prefix}${id}`;
      for (;;) {
        const cell = await cells.get(key);
        const child = cell === null ? null : readChild(cell.value);
        if (cell === null || child === null || child.end !== null) return;
        // An end that is written meanwhile stays.
        const marked = JSON.stringify({ ...child, killed: true, ...(quiet ? { quiet } : {}) });
        if ((await cells.put(key, marked, { expect: cell.version })) !== null) return;
      }
    },
    async end(id, end, nowMs) {
      const child = await get(id);
      if (child === null || child.end !== null) return;
      const { key, value, ttlMs } = endedChild(child, end, nowMs);
      await cells.put(key, value ?? "", ttlMs === undefined ? {} : { ttlMs });
    },
  };
}

/**
 * Names the child of a call: exact repeats of the call get the same one. Its depth stands in the id, whether
 * it works in a thread of its own, and the agent whose caps its spending counts for, where that is another
 * one than its own.
 */
export function childOf(
  call: { readonly turn: string; readonly callId: string; readonly session: string },
  agent: string,
  inThread = false,
): { readonly id: string; readonly session: SessionKey } {
  const hash = createHash("sha256")
    .update(JSON.stringify([call.turn, call.callId]))
    .digest("hex")
    .slice(0, 12);
  const payer = payerOf(call.session);
  const id = `${hash}${inThread ? "t" : ""}-${depthOf(call.session) + 1}${payer === agent ? "" : `-${payer}`}`;
  return { id, session: formatSessionKey({ kind: "subagent", agent, id }) };
}

const childId = /^[0-9a-f]{12}(t?)-(\d)(?:-(.+))?$/;

/** True for a sub-agent that people talk with in a thread of its own. */
export function worksInThread(session: string): boolean {
  const key = parseSessionKey(session);
  return key.kind === "subagent" && childId.exec(key.id)?.[1] === "t";
}

/** 0 for a session that no other one spawned. */
export function depthOf(session: string): number {
  const key = parseSessionKey(session);
  return key.kind === "subagent" ? Number(childId.exec(key.id)?.[2] ?? 1) : 0;
}

/** The agent whose caps a session's spending counts for: that of the first session of its tree. */
export function payerOf(session: string): string {
  const key = parseSessionKey(session);
  return (key.kind === "subagent" ? childId.exec(key.id)?.[3] : undefined) ?? key.agent;
}

/** The id of the child whose session this is; null for any other session. */
export function childIn(session: string): string | null {
  const key = parseSessionKey(session);
  return key.kind === "subagent" ? key.id : null;
}

export function newChild(child: Child): CellWrite {
  return { key: `${prefix}${child.id}`, value: JSON.stringify(child), expect: 0 };
}

/** A child of mode `session` that is given more work. */
export function runsAgain(child: Child, asker: Child["asker"]): CellWrite {
  return {
    key: `${prefix}${child.id}`,
    value: JSON.stringify({ ...child, asker, runs: child.runs + 1, killed: false, quiet: false, end: null }),
  };
}

export function endedChild(child: Child, { state, reason, tokens }: AskedEnd, nowMs: number): CellWrite {
  const ended: Child = { ...child, end: { state, reason, tokens, atMs: nowMs } };
  return { key: `${prefix}${child.id}`, value: JSON.stringify(ended), ttlMs: listedMs };
}

/** Each spawn reads all children of the last days, most of which ended long ago. Bounded (I9). */
const read = new Map<string, Child | null>();
const mostRead = 2_000;

/** A cell of a form that this version does not know is left alone. */
function readChild(value: string): Child | null {
  const known = read.get(value);
  if (known !== undefined) return known;
  const parsed = childSchema.safeParse(JSON.parse(value));
  const child = parsed.success ? parsed.data : null;
  if (read.size >= mostRead) read.clear();
  read.set(value, child);
  return child;
}
