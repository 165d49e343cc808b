// A platform under a test's control: the loopback, with what it can do and how its sends go wrong chosen by
// the test. Unlike the plain loopback it does not know a repeated send, so what is sent twice is seen twice.
import { loopback, type Channel, type Loopback } from "@parley/channels";
import type { Action, Capabilities, Clock, Fault, RenderedPart } from "@parley/protocol";

/**
 * `refuse`: nothing is shown. `lose`: it is shown, but the answer is lost. `hang`: no answer, nothing is
 * shown.
 */
type Harm = { readonly refuse: Fault } | { readonly lose: Fault } | "hang" | null;

interface Sending {
  readonly to: string;
  readonly text: string;
  /** 1 for the first send that was tried in this chat. */
  readonly nth: number;
}

export interface Platform extends Loopback {
  /** Decides about each send from now on; null lets it pass. */
  harm(decide: (sending: Sending) => Harm): void;
  /** The same for each action. */
  harmActions(decide: (acting: { readonly action: Action; readonly nth: number }) => Harm): void;
  /** Changes what the platform can do from the next start of the daemon on. */
  can(more: Partial<Capabilities>): void;
  /** Texts shown to a peer, in order. */
  shown(peer: string): readonly string[];
  /** When each shown send happened, virtual milliseconds. */
  readonly sends: readonly (Sending & { readonly atMs: number })[];
  /** The driver that a process gets. */
  channel(): Channel;
}

export function platform(name: string, clock: Clock): Platform {
  const chat = loopback({ name, account: "default", clock });
  let capabilities: Capabilities = { ...chat.capabilities, idempotentSends: false };
  let decide: (sending: Sending) => Harm = () => null;
  const tries = new Map<string, number>();
  const sends: (Sending & { atMs: number })[] = [];
  let copies = 0;
  let decideAction: (acting: { readonly action: Action; readonly nth: number }) => Harm = () => null;
  let actions = 0;

  const send: Channel["send"] = async (to, part, how) => {
    const nth = (tries.get(to.peer) ?? 0) + 1;
    tries.set(to.peer, nth);
    const sending: Sending = { to: to.peer, text: textOf(part), nth };
    const harm = decide(sending);
    if (harm === "hang") return hung(how.signal);
    if (harm !== null && "refuse" in harm) throw harm.refuse;
    copies += 1;
    const receipt = await chat.send(to, part, { ...how, idempotencyKey: `${how.idempotencyKey}/${copies}` });
    sends.push({ ...sending, atMs: clock.now() });
    if (harm !== null) throw harm.lose;
    return receipt;
  };

  const act: NonNullable<Channel["act"]> = async (to, action, how) => {
    actions += 1;
    const harm = decideAction({ action, nth: actions });
    if (harm === "hang") return hung(how.signal);
    if (harm !== null && "refuse" in harm) throw harm.refuse;
    const receipt = await chat.act?.(to, action, { ...how, idempotencyKey: `act-${actions}` });
    if (harm !== null) throw harm.lose;
    return receipt ?? null;
  };

  return {
    ...chat,
    send,
    act,
    sends,
    harm(next) {
      decide = next;
    },
    harmActions(next) {
      decideAction = next;
    },
    can(more) {
      capabilities = { ...capabilities, ...more };
    },
    shown: (peer) => chat.sent(peer).map((message) => textOf(message.part)),
    channel: () => ({ ...chat, capabilities, send, act }),
  };
}

function hung(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

function textOf(part: RenderedPart): string {
  return part.kind === "text" ? part.text : part.kind === "media" ? (part.caption?.text ?? "") : "";
}
