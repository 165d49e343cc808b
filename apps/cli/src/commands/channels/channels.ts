// `parley channels list|places|test`: how each account does, where people wrote to it, and a message that
// tries it, with what became of that.
import { systemClock, systemIds, type MethodResult } from "@parley/protocol";
import { document, line, type Console } from "../../console.ts";
import type { ControlClient } from "../../control-client.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { secondsOf } from "../../seconds.ts";
import { withGateway } from "../../with-gateway.ts";

type Place = MethodResult<"channels.places">["places"][number];
type Delivery = MethodResult<"outbox.show">;

export interface TestFlags {
  readonly account?: string;
  readonly timeout?: string;
  readonly wait?: boolean;
}

const lookEveryMs = 300;

export async function channelsList(terminal: Console): Promise<ExitCode> {
  const found = await withGateway(terminal, (client) => client.request("channels.list", {}));
  if (terminal.json) document(terminal.out, found);
  else if (found.channels.length === 0) line(terminal.out, "There is no account.");
  else
    for (const { channel, account, state, reason, lastInboundAtMs } of found.channels)
      line(
        terminal.out,
        `${channel}:${account}  ${state}${reason === undefined ? "" : `  ${reason}`}${lastInboundAtMs === undefined ? "" : `  last message ${new Date(lastInboundAtMs).toISOString()}`}`,
      );
  return exitCodes.ok;
}

export async function channelsPlaces(terminal: Console, flags: TestFlags): Promise<ExitCode> {
  const found = await withGateway(terminal, (client) =>
    client.request("channels.places", accountOf(flags.account)),
  );
  if (terminal.json) document(terminal.out, found);
  else if (found.places.length === 0) line(terminal.out, "Nobody has written to an agent there.");
  else for (const place of found.places) line(terminal.out, placeLine(place));
  return exitCodes.ok;
}

export async function channelsTest(
  terminal: Console,
  to: string,
  text: string,
  flags: TestFlags,
): Promise<ExitCode> {
  const withinMs = secondsOf("--timeout", flags.timeout ?? "30");
  const delivery = await withGateway(terminal, async (client) => {
    const { id } = await client.request("channels.test", {
      to,
      ...accountOf(flags.account),
      ...(text === "" ? {} : { text }),
      idempotencyKey: systemIds().uuid(),
    });
    return flags.wait === false ? client.request("outbox.show", { id }) : ended(client, id, withinMs);
  });
  if (terminal.json) document(terminal.out, delivery);
  else line(terminal.out, deliveryLine(delivery));
  return delivery.state === "sent" || flags.wait === false ? exitCodes.ok : exitCodes.failed;
}

/** As it is after `withinMs` where it has not ended by then. */
async function ended(client: ControlClient, id: string, withinMs: number): Promise<Delivery> {
  const clock = systemClock();
  const untilMs = clock.mono() + withinMs;
  for (;;) {
    const delivery = await client.request("outbox.show", { id });
    const waits = delivery.state === "waiting" || delivery.state === "open";
    if (!waits || clock.mono() >= untilMs) return delivery;
    await new Promise<void>((resolve) => void clock.after(lookEveryMs, resolve));
  }
}

function accountOf(account: string | undefined): { readonly channel?: string; readonly account?: string } {
  if (account === undefined) return {};
  const [, channel, name] = /^([a-z]+)(?::(.+))?$/.exec(account) ?? [];
  if (channel === undefined)
    throw new CommandFailure(
      "invalid",
      `--account takes an account as "parley channels list" shows it, telegram:default, not "${account}"`,
      exitCodes.usage,
    );
  return { channel, ...(name === undefined ? {} : { account: name }) };
}

function placeLine({ conversation, names, title, lastAtMs }: Place): string {
  const who = [...(title === null ? [] : [title]), ...names.slice(0, 3)].join(", ");
  return `${conversation}  ${who}  ${new Date(lastAtMs).toISOString()}`;
}

function deliveryLine({ id, conversation, state, parts }: Delivery): string {
  const [part] = parts;
  const words: { readonly [each in Delivery["state"]]: string } = {
    sent: `Sent to ${conversation} as message ${part?.messageId ?? "of no id"}.`,
    failed: `Not sent to ${conversation}: ${part?.reason ?? "no reason is known"}`,
    ambiguous: `Nobody knows whether it reached ${conversation}: ${part?.reason ?? "no reason is known"}`,
    open: `It is being sent to ${conversation}; "parley outbox show ${id}" tells how it ended.`,
    waiting: `It waits to be sent to ${conversation}; "parley outbox show ${id}" tells how it ended.`,
  };
  return words[state];
}
