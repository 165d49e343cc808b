// Laws about what people saw: order and whole replies (I4), doubled only where that cannot be helped, and
// flagged (I5), to the right address (I6), and never a token or a thought (I8).
import { answered, numberOf, partOf, turnOfDelivery, type Evidence } from "./evidence.ts";
import { secretThought } from "./model.ts";
import type { Platform, Shown } from "./platform.ts";

const hidden = ["NO_REPLY", "HEARTBEAT_OK", "<think", "</think", "[[", "<<<", secretThought];

export function judgeReplies(evidence: Evidence): void {
  const { world, platforms, rowsOfTurn, rows } = evidence;
  for (const platform of platforms.values()) {
    for (const message of platform.shown) {
      for (const text of message.texts) {
        const leaked = hidden.find((word) => text.includes(word));
        if (leaked !== undefined)
          world.broken("I8", `${message.messageId} showed ${leaked}: ${JSON.stringify(text)}`);
      }
      judgeAddress(evidence, platform, message);
    }
    for (const [conversation, messages] of Map.groupBy(platform.shown, (message) => message.conversation)) {
      judgeOrder(
        evidence,
        conversation,
        platform.traits.idempotent ? messages : firstCopies(evidence, messages),
      );
      judgeDoubles(evidence, platform.traits.idempotent, messages);
    }
  }

  // Everything is answered or told. What a person can see of an answered row is its reply, or trouble on
  // record.
  for (const [turn, taken] of rowsOfTurn) {
    if (taken.some((row) => row.outcome !== "answered" && row.outcome !== "dead")) continue;
    const delivery = evidence.deliveries.get(`${turn}/0`) ?? evidence.deliveries.get(`${turn}/buried`);
    if (delivery === undefined)
      world.broken("liveness", `${turn} ended ${taken[0]?.outcome} and nothing was ever to be said`);
    else if (!delivery.done) world.broken("liveness", `${delivery.id} was never delivered`);
  }
  for (const row of rows) {
    if (row.outcome !== "answered") continue;
    const said = [...evidence.deliveries.values()].filter((delivery) => delivery.cause === row.turn);
    const number = numberOf(row);
    const seen = [...platforms.values()].flatMap(({ shown }) =>
      shown.filter(({ key }) => key.startsWith(`${row.turn}/`)),
    );
    const arrived = said.every((delivery) => delivery.parts.every((part) => part.state === "sent"));
    if (
      number !== null &&
      arrived &&
      !seen.some((message) => message.texts.some((text) => answered(text).includes(number)))
    ) {
      world.broken("liveness", `#${number} counts as answered by ${row.turn}, and no message says so`);
    }
  }
}

function judgeAddress(
  { world, rowsOfTurn, rows, deliveries }: Evidence,
  { forgotten }: Platform,
  message: Shown,
): void {
  const { delivery } = partOf(message);
  // What did not arrive is told to the owners, where they are, and to nobody else.
  if (delivery.startsWith("trouble:")) {
    if (!message.conversation.endsWith(":dm:olga"))
      world.broken("I6", `${delivery} is for owners and was shown in ${message.conversation}`);
    return;
  }
  // A word about what was dropped, cut or refused goes to those whose turn it is about.
  const told = /^(?:dropped|overflow|failed):/.test(delivery)
    ? (deliveries.get(delivery)?.cause ?? null)
    : null;
  const turn = told ?? turnOfDelivery(delivery);
  const causes =
    turn === null ? rows.filter((row) => `notice:${row.id}` === delivery) : (rowsOfTurn.get(turn) ?? []);
  // A command answers before it has its row. Killed in between, it gets the row when it is told again, unless
  // Discord forgot it.
  if (causes.length === 0 && forgotten.has(delivery.replace("notice:", ""))) return;
  if (causes.length === 0) world.broken("I6", `${message.messageId} shows ${delivery}, which no row caused`);
  for (const row of causes) {
    if (row.conversation !== message.conversation)
      world.broken("I6", `${delivery} answers ${row.conversation} and was shown in ${message.conversation}`);
  }
  if (!deliveries.has(delivery))
    world.broken("I6", `${message.messageId} shows ${delivery}, which the outbox does not know`);
}

/** A preview and the reply that took its place are one. */
function replyOf(message: Shown): string {
  return partOf(message).delivery.replace(/\/preview$/, "/0");
}

/**
 * Without the second copy of a part that was flagged as possibly doubled: the last request of a node that is
 * paused arrives when it likes, also behind what its successor sent.
 */
function firstCopies({ deliveries }: Evidence, messages: readonly Shown[]): readonly Shown[] {
  const seen = new Set<string>();
  return messages.filter(({ key }) => {
    const { delivery, part } = partOf({ key });
    if (seen.has(key) && deliveries.get(delivery)?.parts[part]?.flagged === true) return false;
    seen.add(key);
    return true;
  });
}

function judgeOrder({ world, rowsOfTurn }: Evidence, conversation: string, messages: readonly Shown[]): void {
  let newest = -1;
  let newestTurn: string | null = null;
  const ended = new Set<string>();
  let current = "";
  let part = -1;
  for (const message of messages) {
    const reply = replyOf(message);
    const place = partOf(message).part;
    if (reply !== current) {
      if (ended.has(reply)) world.broken("I4", `the parts of ${reply} in ${conversation} are not together`);
      ended.add(current);
      current = reply;
      part = -1;
      const turn = turnOfDelivery(reply);
      const seqs = (turn === null ? [] : (rowsOfTurn.get(turn) ?? [])).map((row) => row.seq);
      if (seqs.length > 0 && turn !== newestTurn) {
        newestTurn = turn;
        if (Math.min(...seqs) < newest)
          world.broken("I4", `${reply} in ${conversation} came after the answer to a newer message`);
        newest = Math.max(newest, ...seqs);
      }
    }
    if (place < part) world.broken("I4", `part ${place} of ${reply} came after part ${part}`);
    part = Math.max(part, place);
  }
}

function judgeDoubles(
  { world, deliveries, rowsOfTurn }: Evidence,
  idempotent: boolean,
  messages: readonly Shown[],
): void {
  for (const [key, copies] of Map.groupBy(messages, (message) => message.key)) {
    if (copies.length < 2) continue;
    const { delivery, part } = partOf({ key });
    const flagged = deliveries.get(delivery)?.parts[part]?.flagged === true;
    if (idempotent) world.broken("I5", `${key} was shown ${copies.length} times on an idempotent platform`);
    else if (copies.length > 2) world.broken("I5", `${key} was shown ${copies.length} times`);
    else if (!flagged) world.broken("I5", `${key} was shown twice, and nobody is told`);
    else if (world.harmed() === 0) world.broken("I5", `${key} was shown twice, and nothing had failed`);
  }
  // The same answer under another key would be a second answer.
  const answers = new Map<number, string | null>();
  const last = new Map(messages.map((message) => [message.key, message]));
  for (const message of messages) {
    // Of a preview that was shown twice the copy that nobody knows of stays as it was.
    if (message.removed || last.get(message.key) !== message) continue;
    for (const number of answered(message.texts.at(-1) ?? "")) {
      const turn = turnOfDelivery(partOf(message).delivery);
      // What a turn said in blocks before it was stopped stays, and its messages may be answered by the next
      // one.
      if (rowsOfTurn.get(turn ?? "")?.some((row) => row.outcome !== "answered") === true) continue;
      const before = answers.get(number);
      if (before !== undefined && before !== turn)
        world.broken("I5", `#${number} was answered by ${before} and again by ${turn}`);
      answers.set(number, turn);
    }
  }
}
