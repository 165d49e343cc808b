// `parley status`: what the daemon does and whether anything is wrong. Exit 0 only when its state is ok.
import { systemClock, type MethodResult } from "@parley/protocol";
import { document, line, styled, words, type Console, type Style } from "../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../exit.ts";
import { statusWritten } from "../gateway-process.ts";
import { withGateway } from "../with-gateway.ts";

type Status = MethodResult<"status">;

export async function status(terminal: Console): Promise<ExitCode> {
  let isAnswered = true;
  const found = await withGateway(terminal, (client) => client.request("status", {})).catch(
    async (error: unknown) => {
      const last =
        error instanceof CommandFailure && ["unavailable", "timeout"].includes(error.code)
          ? await statusWritten(terminal)
          : null;
      if (last === null) throw error;
      const agoS = Math.max(0, Math.round((systemClock().now() - last.atMs) / 1_000));
      words(terminal.err, styled(terminal.err, terminal.env, "red", (error as CommandFailure).message));
      line(terminal.err, `Its process ${last.pid} runs. This is what it wrote down ${agoS} seconds ago:`);
      isAnswered = false;
      return last.status;
    },
  );
  if (terminal.json) document(terminal.out, found);
  else
    for (const text of statusLines(found, (style, text) => styled(terminal.out, terminal.env, style, text)))
      line(terminal.out, text);
  return isAnswered && found.state === "ok" ? exitCodes.ok : exitCodes.failed;
}

function statusLines(found: Status, style: (style: Style, text: string) => string): string[] {
  const colour = (state: string): Style =>
    state === "ok"
      ? "green"
      : state === "down" || state === "stopped"
        ? "red"
        : state === "elsewhere"
          ? "dim"
          : "yellow";
  const megabytes = Math.round(found.memoryBytes / 1_048_576);
  return [
    `${style("bold", "Parley")} ${found.version}  ${style(colour(found.state), found.state)}  (pid ${found.pid}, ${megabytes} MB, since ${new Date(found.startedAtMs).toISOString()})`,
    ...found.reasons.map((reason) => `  ${style("yellow", reason)}`),
    `Model     ${found.model}`,
    `Config    ${found.configPath}`,
    ...configLines(found).map((text) => `  ${style("yellow", text)}`),
    `Work      ${found.turnsRunning} running, ${found.rowsWaiting} waiting, ${found.deliveriesWaiting} to deliver`,
    ...childLines(found),
    ...heartbeatLines(found),
    ...(found.deadRows + found.deliveriesTroubled === 0 ? [] : [style("yellow", troubleLine(found))]),
    ...found.channels.map(({ channel, account, state, reason }) => {
      const why = reason === undefined ? "" : `  ${reason}`;
      return `Channel   ${channel}:${account}  ${style(colour(state), state)}${why}`;
    }),
  ];
}

/** Nothing where no session has had sub-agents in the last days. */
function childLines({ subagents }: Status): string[] {
  if (subagents === undefined) return [];
  const { running, waiting, ended } = subagents;
  const ends = Object.entries(ended).map(([state, count]) => `${count} ${state}`);
  if (running + waiting + ends.length === 0) return [];
  const past = ends.length === 0 ? "" : `; in seven days ${ends.join(", ")}`;
  return [`Subagents ${running} running, ${waiting} waiting${past}`];
}

/** Nothing where none was due. A gateway from before an upgrade does not say. */
function heartbeatLines(found: Status): string[] {
  const counts = Object.entries(found.heartbeats ?? {});
  const words = counts.map(([result, count]) => `${count} ${result}`);
  return words.length === 0 ? [] : [`Heartbeat ${words.join(", ")}`];
}

/** What of the file is not in force. A gateway from before an upgrade does not say. */
function configLines(found: Status): string[] {
  const { problems, restartNeeded } = (found.config as Status["config"] | undefined) ?? {
    problems: [],
    restartNeeded: [],
  };
  const kept =
    problems.length === 0 ? [] : ["the file is not taken up, the last good config goes on:", ...problems];
  return restartNeeded.length === 0
    ? kept
    : [...kept, `waits for \`parley restart\`: ${restartNeeded.join(", ")}`];
}

function troubleLine({ deadRows, deliveriesTroubled }: Status): string {
  return `Trouble   ${deadRows} dead (parley dead list), ${deliveriesTroubled} not delivered (parley outbox list --troubled)`;
}
