// May this sender speak here, and does it call the agent? One matcher for every platform. Keeps I13: no policy, an unreadable one or an
// unknown sender means no turn. It compares exact ids and is never handed a name.
import type { DmPolicy } from "@parley/config";
import type { Inbound } from "@parley/protocol";
import type { Activation } from "../commands/activation.ts";
import type { BotLoops } from "./bot-loops.ts";
import type { PairingBook } from "./pairing.ts";
import type { Place, PlaceRules, Senders } from "./place-rules.ts";

/** What the config says about one account. */
export interface AccessPolicy {
  readonly dmPolicy: DmPolicy;
  readonly allowFrom: readonly string[];
  readonly allowBots: boolean | "mentions";
  /** For groups and channels. */
  readonly rules: (place: Place) => PlaceRules;
}

/** Null for an account that the config does not have. */
export type PolicyOf = (account: Pick<Inbound, "channel" | "account">) => AccessPolicy | null;

export type Admission =
  | { readonly kind: "turn"; readonly owner: boolean; readonly authority: string }
  /** The sender may speak, but nobody called: remembered as context, no turn. */
  | { readonly kind: "context" }
  | { readonly kind: "refused"; readonly reason: string; readonly say?: string };

export interface AdmitOptions {
  readonly policy: PolicyOf;
  readonly isOwner: (who: Pick<Inbound, "channel" | "account" | "sender">) => Promise<boolean>;
  readonly pairing: Pick<PairingBook, "isPaired" | "ask">;
  readonly botLoops: BotLoops;
  /** Default: whether the sender is an owner. */
  readonly authority?: (inbound: Inbound, owner: boolean) => string;
}

export interface Call {
  /** It is a command of ours: that calls us as a mention does. */
  readonly isCommand: boolean;
  /** What /activation set in the session; asked for only when it decides. */
  readonly activation: () => Promise<Activation | null>;
}

export type Admit = (inbound: Inbound, call: Call) => Promise<Admission>;

export function admission(options: AdmitOptions): Admit {
  const turn = async (inbound: Inbound): Promise<Admission> => {
    const owner = await options.isOwner(inbound);
    return { kind: "turn", owner, authority: options.authority?.(inbound, owner) ?? (owner ? "owner" : "member") };
  };

  async function direct(inbound: Inbound, { dmPolicy, allowFrom }: AccessPolicy): Promise<Admission> {
    const listed = allowFrom.includes(inbound.sender.id);
    switch (dmPolicy) {
      case "disabled":
        return refused("direct messages are disabled");
      case "open":
        return listed || allowFrom.includes("*") ? turn(inbound) : refused("sender is not in allowFrom");
      case "allowlist":
        return listed ? turn(inbound) : refused("sender is not in allowFrom");
      case "pairing": {
        if (listed || (await options.isOwner(inbound)) || (await options.pairing.isPaired(inbound))) return turn(inbound);
        const answer = await options.pairing.ask(inbound);
        if (answer.kind !== "asked") return refused(answer.kind === "pending" ? "pairing is pending" : "too many pairing requests");
        return refused("pairing asked", pairingText(inbound, answer.code));
      }
    }
  }

  async function shared(inbound: Inbound, call: Call, rules: PlaceRules): Promise<Admission> {
    if (rules.policy === "disabled") return refused("groups are disabled");
    if (!rules.served) return refused("this group is not listed");
    if (!rules.enabled) return refused("this place is switched off");
    if (rules.senders !== null && !isAmong(inbound.sender, rules.senders)) return refused("sender may not speak in this group");
    if (inbound.addressed || call.isCommand) return turn(inbound);
    const activation = await call.activation();
    if (rules.ignoresOthersMentions === true && inbound.mentions.length > 0) return { kind: "context" };
    const needsMention = activation === null ? rules.requireMention : activation === "mention";
    return needsMention ? { kind: "context" } : turn(inbound);
  }

  return async (inbound, call) => {
    const policy = options.policy(inbound);
    if (policy === null) return refused("no policy for this account");
    const { sender, address } = inbound;
    if (sender.id === "") return refused("the sender has no id");
    if (sender.isBot && !hearsBot(inbound, policy)) return refused("sender is a bot");
    const admitted = await (address.kind === "dm" ? direct(inbound, policy) : shared(inbound, call, policy.rules(inbound)));
    if (admitted.kind !== "turn" || !sender.isBot) return admitted;
    return options.botLoops.passes(inbound) ? admitted : refused("two bots answer each other");
  };
}

/** Answering a bot's answer is no mention: that is how two of them begin. */
function hearsBot({ addressed, replyTo }: Inbound, { allowBots }: AccessPolicy): boolean {
  return allowBots === "mentions" ? addressed && replyTo?.toBot !== true : allowBots;
}

function refused(reason: string, say?: string): Admission {
  return { kind: "refused", reason, ...(say === undefined ? {} : { say }) };
}

function isAmong({ id, roles = [] }: Inbound["sender"], allowed: Senders): boolean {
  return allowed.users.includes(id) || allowed.users.includes("*") || roles.some((role) => allowed.roles.includes(role));
}

function pairingText(inbound: Inbound, code: string): string {
  return [
    "I do not know you yet, so I cannot answer.",
    `Your ${inbound.channel} id: \`${inbound.sender.id}\``,
    `Pairing code: \`${code}\``,
    `Ask the operator to run \`parley pair approve ${code}\` within an hour.`,
  ].join("\n");
}
