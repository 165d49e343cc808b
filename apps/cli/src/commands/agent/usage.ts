// `parley usage`: what was used, by session, agent, channel, person, model or day, and how much of the caps
// is left.
import type { MethodResult } from "@parley/protocol";
import { document, line, type Console } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { withState } from "../../with-gateway.ts";

type Used = MethodResult<"usage">;
type Sums = Used["total"];

const kinds = ["session", "agent", "channel", "person", "model", "day"] as const;
const mostDays = 62;

export interface UsageChoice {
  readonly by?: string;
  readonly days?: string;
}

export async function usage(terminal: Console, choice: UsageChoice): Promise<ExitCode> {
  const by = kinds.find((kind) => kind === (choice.by ?? "agent"));
  if (by === undefined)
    throw new CommandFailure("invalid", `--by is one of: ${kinds.join(", ")}`, exitCodes.usage);
  const days = Number(choice.days ?? 30);
  if (!Number.isInteger(days) || days < 1 || days > mostDays) {
    throw new CommandFailure("invalid", `--days is a number from 1 to ${mostDays}`, exitCodes.usage);
  }
  const found = await withState(terminal, (client) => client.request("usage", { by, days }));
  if (terminal.json) document(terminal.out, found);
  else for (const text of usageLines(found, by)) line(terminal.out, text);
  return exitCodes.ok;
}

function usageLines({ from, through, timeZone, rows, total, caps }: Used, by: string): string[] {
  const header = `${from} to ${through} (${timeZone})`;
  if (rows.length === 0) return [`${header}: nothing was used.`, ...caps.map(capLine)];
  const cells = [
    [by, "turns", "tokens in", "tokens out", "cost"],
    ...rows.map((row) => rowOf(row.name, row)),
    rowOf("total", total),
  ];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const table = cells.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("  "),
  );
  const unpriced =
    total.unpricedTokens === 0
      ? []
      : [`* ${total.unpricedTokens} tokens have no known price and are in no dollars.`];
  return [header, ...table, ...unpriced, ...caps.map(capLine)];
}

function rowOf(name: string, sums: Sums): string[] {
  const { turns, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd, unpricedTokens } =
    sums;
  const read = inputTokens + cacheReadTokens + cacheWriteTokens;
  const isUnknown = costUsd === 0 && unpricedTokens > 0 && unpricedTokens === read + outputTokens;
  const cost = isUnknown ? "unknown*" : `${dollars(costUsd)}${unpricedTokens > 0 ? "*" : ""}`;
  return [name, String(turns), String(read), String(outputTokens), cost];
}

function capLine({ agent, over, unit, used, most, resets }: Used["caps"][number]): string {
  const of = unit === "usd" ? `${dollars(used)} of ${dollars(most)}` : `${used} of ${most} tokens`;
  return `limit of ${agent} a ${over}: ${of}${used >= most ? ", REACHED" : ""}; resets ${resets}`;
}

function dollars(usd: number): string {
  return `$${usd.toFixed(usd > 0 && usd < 0.1 ? 4 : 2)}`;
}
