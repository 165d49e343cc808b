// Lets a person guide a sub-agent that runs. What they say has the people, place and rights of its task, so
// it joins its work and widens nothing; repeats of the same message are one row.
import type { Clock } from "@parley/protocol";
import type { Inbox } from "@parley/store";
import { internalRow } from "../internal-row.ts";
import type { Child } from "./child-registry.ts";

/** The row with which the sub-agent was given its task; null when it is not kept any more. */
export async function taskRow(inbox: Pick<Inbox, "find">, { id }: Pick<Child, "id">) {
  const [row] = await inbox.find({ id: `task:${id}`, limit: 1, dismissed: true });
  return row ?? null;
}

/** `id`: of the person's message. False when the task is not kept any more. */
export async function steerChild(
  { inbox, clock }: { readonly inbox: Pick<Inbox, "find" | "accept">; readonly clock: Clock },
  child: Child,
  { id, text }: { readonly id: string; readonly text: string },
): Promise<boolean> {
  const task = await taskRow(inbox, child);
  if (task === null) return false;
  const seen = child.thread === undefined ? {} : { unseen: false };
  const what = { kind: "message", id, turn: child.turn, ...seen } as const;
  await inbox.accept([internalRow(task, `steer:${id}`, `From a person: ${text}`, what, clock.now())]);
  return true;
}
