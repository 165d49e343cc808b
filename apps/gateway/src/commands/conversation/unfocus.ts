// Implements /unfocus: a sub-agent leaves its thread, and what is written there goes to the agent itself
// again. Beside owners only people with the rights that it works with may send it away.
import { childIn, taskRow } from "@parley/runner";
import type { PastLaneCommand } from "../chat-command.ts";

export const unfocus: PastLaneCommand = {
  name: "unfocus",
  summary: "the sub-agent that works in this thread leaves it",
  place: "past-lane",
  async run({ inbound: { address }, owner, authority }, { handOvers, store: { inbox } }) {
    const session = handOvers.worker(address);
    const id = session === null ? null : childIn(session);
    if (session === null || id === null) return "No sub-agent works in this thread.";
    const isTheirs = owner || (await taskRow(inbox, { id }))?.authority === authority;
    if (!isTheirs) return "Only an owner may do that: it works with the rights of others.";
    await handOvers.unbind(session);
    return "The sub-agent has left this thread; what it does now it still answers here. What you write here goes to me from now on.";
  },
};
