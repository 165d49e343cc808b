// Implements /usage: reports what this conversation used, today and in thirty days, and to owners how much of
// the agent's spending limits is left. It refuses the arguments by which other bots put a line under every
// answer, so that nobody waits for one.
import { recentDays } from "@parley/protocol";
import { type SpendState, addUsed, noneUsed, tokensOf, type Used } from "@parley/runner";
import type { PastLaneCommand } from "../chat-command.ts";

const shownDays = 30;
const usageHint =
  "There is no line under my answers to set. /usage alone says what this conversation used, today and in 30 days.";

export const usage: PastLaneCommand = {
  name: "usage",
  summary: "what this conversation used",
  place: "past-lane",
  onlyTells: true,
  async run({ args, inbound, route, owner }, { usage: log, ledger, clock }) {
    if (!["", "cost"].includes(args.toLowerCase())) return usageHint;
    const days = recentDays(clock.now(), log.timeZone, shownDays);
    const rows = await log.ofSession(route.session, days);
    const today = rows.filter(({ day }) => day === days[0]).reduce(addUsed, noneUsed);
    const all = rows.reduce(addUsed, noneUsed);
    // A group does not see the agent's spending limits.
    const state =
      owner && inbound.address.kind === "dm"
        ? (await ledger.states()).find(({ agent }) => agent === route.agent)
        : undefined;
    return [
      `Today: ${usedWords(today)}`,
      `${shownDays} days: ${usedWords(all)}`,
      ...(all.unpricedTokens === 0
        ? []
        : [`Of these ${thousands(all.unpricedTokens)} tokens have no known price and are in no dollars.`]),
      ...(state === undefined ? [] : capLines(state)),
    ].join("\n");
  },
};

function usedWords(used: Used): string {
  const read = used.inputTokens + used.cacheReadTokens + used.cacheWriteTokens;
  const cost =
    tokensOf(used) > 0 && used.unpricedTokens === tokensOf(used) && used.costUsd === 0
      ? ""
      : `, ${dollars(used.costUsd)}`;
  return `${thousands(read)} tokens in, ${thousands(used.outputTokens)} out${cost}, ${used.turns === 1 ? "1 turn" : `${used.turns} turns`}`;
}

function capLines({ agent, caps, day, month }: SpendState): string[] {
  const line = (words: string, used: Used, usd: number | undefined, tokens: number | undefined): string[] => [
    ...(usd === undefined ? [] : [`Agent ${agent} ${words}: ${dollars(used.costUsd)} of ${dollars(usd)}`]),
    ...(tokens === undefined
      ? []
      : [`Agent ${agent} ${words}: ${thousands(tokensOf(used))} of ${thousands(tokens)} tokens`]),
  ];
  return [
    ...line("today", day, caps.dayUsd, caps.dayTokens),
    ...line("this month", month, caps.monthUsd, caps.monthTokens),
  ];
}

function dollars(usd: number): string {
  return `$${usd.toFixed(usd > 0 && usd < 0.1 ? 4 : 2)}`;
}

function thousands(count: number): string {
  return count < 1_000 ? String(count) : `${(count / 1_000).toFixed(count < 10_000 ? 1 : 0)}k`;
}
