// Implements /handoff: a person goes on with the same conversation on another channel where the config knows
// them. What is under way is answered where it was asked; what comes next, also by itself, is there. The
// hand-over is durable before anybody is told, and asking twice changes nothing more.
import { linkedPeople } from "@parley/access";
import { accountKey, conversationKey, formatContent, type Address } from "@parley/protocol";
import { type PastLaneCommand, plainly } from "../chat-command.ts";

export const handoff: PastLaneCommand = {
  name: "handoff",
  summary: "go on with this conversation on another channel: /handoff discord, /handoff off",
  place: "past-lane",
  suggests: async ({ inbound: { address } }, { accounts }) =>
    plainly(
      [...new Set(accounts().map(({ channel }) => channel)), "off"].filter(
        (each) => each !== address.channel,
      ),
    ),
  async run(
    { args, owner, route: { session }, inbound },
    { config, store, approvals, questions, handOvers, accounts },
  ) {
    const { address } = inbound;
    if (address.kind !== "dm") return "Only a private conversation can be handed over.";
    const wanted = args.toLowerCase();
    const now = handOvers.of(session);
    const places = accounts();
    const linked = linkedPeople(config.session.identityLinks);
    // Several people may share a session; one of them may not take the hand-over of another.
    const isOthers =
      now !== null &&
      !owner &&
      !linked(address, now.to) &&
      ![now.from, now.to].some((at) => conversationKey(at) === conversationKey(address));
    if (isOthers && wanted !== "")
      return "Somebody else handed this conversation over: only they, or an owner, move it.";
    if (wanted === "off") {
      const was = await handOvers.takeBack(session);
      if (now === null || !was) return "This conversation was not handed over.";
      if (conversationKey(now.from) !== conversationKey(address))
        await tell(store, inbound.id, now.from, "Back again: we go on here.");
      return `It goes on ${placeWords(now.from, address)} again.`;
    }
    const ids = Object.values(config.session.identityLinks).find((each) =>
      each.includes(`${address.channel}:${address.peer}`),
    );
    const others = (ids ?? [])
      .flatMap((id) => placesOf(id, places))
      .filter(({ channel }) => channel !== address.channel);
    const names = [...new Set(others.map(({ channel }) => channel))];
    if (names.length === 0)
      return "I know you on no other channel. The operator links your accounts in session.identityLinks.";
    const to = others.find(({ channel }) => channel === wanted);
    if (to === undefined) {
      const where = now === null ? "here" : placeWords(now.to, address);
      return `This conversation goes on ${where}. Hand it over with ${names.map((name) => `/handoff ${name}`).join(" or ")}; /handoff off takes it back.`;
    }
    await handOvers.handOver(session, address, to);
    await tell(store, inbound.id, to, `We go on here with what we talked about on ${address.channel}.`);
    await Promise.all([approvals.follow(session, address), questions.follow(session, address)]);
    return `What comes next is on ${to.channel}. What I am doing now I still answer here; /handoff off brings it back.`;
  },
};

/** Private conversations with this person, one for each account of the channel. */
function placesOf(id: string, accounts: readonly Pick<Address, "channel" | "account">[]): readonly Address[] {
  const at = id.indexOf(":");
  const peer = id.slice(at + 1);
  return accounts
    .filter(({ channel }) => channel === id.slice(0, at))
    .map(({ channel, account }) => ({ channel, account, kind: "dm", peer }));
}

function placeWords({ channel }: Address, here: Address): string {
  return channel === here.channel ? "here" : `on ${channel}`;
}

async function tell(
  { outbox }: Parameters<PastLaneCommand["run"]>[1]["store"],
  cause: string,
  to: Address,
  markdown: string,
): Promise<void> {
  await outbox.post([
    {
      id: `handoff:${cause}`,
      pool: accountKey(to),
      lane: conversationKey(to),
      cause,
      parts: [{ content: formatContent({ v: 1, kind: "reply", parts: [{ kind: "text", markdown }] }) }],
    },
  ]);
}
