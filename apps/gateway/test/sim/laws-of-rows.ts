// Laws about rows and turns: nothing acknowledged is lost (I1), every row has one end (I2), one turn (I3),
// one authority and address (I6), stops hold, strangers stay out (I13), sessions are their addresses (I14).
import { parseRowPayload } from "@parley/protocol";
import { outcomes, type RowView } from "@parley/store";
import { numberOf, type Evidence } from "./evidence.ts";
import { startMs } from "./timeline.ts";

/**
 * Deaths from outside that hit one open turn, the last of them at one of its own steps while it alone was
 * tried: nothing tells it from a turn that kills (docs/decisions/0010).
 */
const undecidable = 3;

/**
 * Whether the plan killed the process so often while this row was open that nothing tells it from a guilty
 * one.
 */
function cannotBeTold({ history }: Evidence["world"], { acceptedAtMs, endedAtMs }: RowView): boolean {
  const deaths = history().filter((line) => {
    const atMs = Number(line.split(" ", 1)[0]) * 1_000 + startMs;
    const isOpen = atMs >= acceptedAtMs && atMs <= (endedAtMs ?? Infinity);
    return isOpen && /boot-\S+ dies: (?:killed|before|after|\w+\.\w+#)/.test(line);
  });
  return deaths.length >= undecidable && deaths.at(-1)?.endsWith(" dies: killed") === false;
}

export function judgeRows({ world, platforms, book, rows, rowsOfTurn, transcripts }: Evidence): void {
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const [name, { confirmed }] of platforms) {
    for (const id of confirmed)
      if (!byId.has(id)) world.broken("I1", `${name} saw ${id} acknowledged, and it has no row`);
  }

  const asides = new Set(
    world.plan.acts.flatMap((act) => (act.kind === "say" && act.aside === true ? [act.n] : [])),
  );
  const deadly = new Set(
    world.plan.acts.flatMap((act) => (act.kind === "say" && act.script.kills === true ? [act.n] : [])),
  );
  for (const row of rows) {
    const isDeadly = deadly.has(numberOf(row) ?? -1);
    if (isDeadly && row.outcome !== "dead")
      world.broken("suspects", `${row.id} kills the process, and ended ${row.outcome}`);
    const isBuried = row.outcome === "dead" && row.reason?.startsWith("the process died") === true;
    if (!isDeadly && isBuried && !cannotBeTold(world, row))
      world.broken("suspects", `${row.id} was buried (${row.reason}), and it kills nobody`);
    const told = `${row.id} (#${numberOf(row) ?? "-"})`;
    if (
      asides.has(numberOf(row) ?? -1) &&
      row.version === 0 &&
      row.turn !== null &&
      row.outcome !== "context"
    ) {
      world.broken("I13", `${told} was meant for nobody and was taken by ${row.turn}`);
    }
    // What was not meant for the product waits until a turn reads it, or newer words push it out.
    if (row.state === "context") continue;
    if (row.state !== "ended" || row.outcome === null || !outcomes.includes(row.outcome)) {
      world.broken("I2", `${told} has no end: it is ${row.state}`);
    } else if (row.reason === null) world.broken("I2", `${told} ended ${row.outcome} without a reason`);
    if ((row.outcome === "answered" || row.outcome === "silent") && row.turn === null) {
      world.broken("I2", `${told} ended ${row.outcome} without a turn`);
    }
    if (row.payload !== "" && row.conversation.endsWith(":mallory"))
      world.broken("I13", `${told} of an unknown sender was kept with its words`);
    if (
      row.reason?.startsWith("interrupted") === true &&
      !rows.some((later) => later.lane === row.lane && later.seq > row.seq)
    ) {
      world.broken("I2", `${told} was interrupted by a newer message, and there is none`);
    }
  }

  // A message is one row, whatever the platform repeated; its edits are rows that end superseded.
  const firsts = Map.groupBy(
    rows.filter((row) => row.version === 0 && numberOf(row) !== null),
    (row) => numberOf(row),
  );
  for (const [number, same] of firsts) {
    if (same.length > 1)
      world.broken("I3", `#${number} has ${same.length} rows: ${same.map((row) => row.id).join(", ")}`);
  }

  for (const [turn, taken] of rowsOfTurn) {
    const [first] = taken;
    for (const row of taken) {
      if (row.conversation !== first?.conversation)
        world.broken("I6", `${turn} holds rows of ${first?.conversation} and ${row.conversation}`);
      if (row.authority !== first?.authority)
        world.broken("authority", `${turn} holds rows of ${first?.authority} and ${row.authority}`);
    }
    const reason = book.stops.get(turn);
    const alive = taken.filter((row) => row.outcome !== "stopped");
    if (reason !== undefined && alive.length > 0) {
      world.broken(
        "stop",
        `${turn} was told to stop (${reason}), and ${alive.map((row) => `${row.id} ended ${row.outcome}`).join(", ")}`,
      );
    }
    judgeTranscript(turn, taken);
  }

  const lanes = new Map<string, string>();
  for (const row of rows) {
    const known = lanes.get(row.conversation);
    if (known !== undefined && known !== row.lane)
      world.broken("I14", `${row.conversation} is in ${known} and in ${row.lane}`);
    lanes.set(row.conversation, row.lane);
    const owner = row.payload !== "" && parseRowPayload(row.payload).owner;
    if ((row.authority === "owner") !== owner)
      world.broken("authority", `${row.id} has authority ${row.authority} and owner ${owner}`);
  }
  if (world.plan.scope !== "main" && new Set(lanes.values()).size !== lanes.size)
    world.broken("I14", "two conversations share a session");

  /** What the transcript says that a turn answered is exactly what it held. */
  function judgeTranscript(turn: string, taken: readonly RowView[]): void {
    const said = transcripts.filter((line) => line.turn === turn && line.entry.type === "user");
    const ids = said.flatMap((line) => (line.entry.type === "user" ? line.entry.rows : []));
    if (ids.length === 0) return;
    const held = taken.map((row) => row.id);
    for (const id of ids)
      if (!held.includes(id)) world.broken("I3", `${turn} read ${id}, which it does not hold`);
    for (const id of held)
      if (!ids.includes(id)) world.broken("I3", `${turn} holds ${id}, which its transcript does not have`);
    if (new Set(ids).size !== ids.length) world.broken("I3", `${turn} read a row twice: ${ids.join(", ")}`);
  }
}
