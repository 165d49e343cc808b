// Decides whether a sender may speak here and whether the message calls the agent. All platforms share it. No
// policy, an unreadable one or an unknown sender means no turn (I13); it compares exact ids and never sees a
// name.
import type { DmPolicy } from "@parley/config";
import type { Inbound } from "@parley/protocol";
import type { RefusalReason } from "./refusal-log.ts";
import type { BotLoops } from "./bot-loop-guard.ts";
import type { PairingStore } from "./pairing.ts";
import type { Place, PlaceRules, Senders } from "./place-rules.ts";

const refusalWords = {
  no_policy: "no policy for this account",
  no_sender_id: "the sender has no id",
  sender_is_bot: "sender is a bot",
  bot_loop: "two bots answer each other",
  dm_disabled: "direct messages are disabled",
  not_in_allow_from: "sender is not in allowFrom",
  pairing_asked: "pairing asked",
  pairing_pending: "pairing is pending",
  too_many_pairings: "too many pairing requests",
  group_disabled: "groups are disabled",
  group_not_listed: "this group is not listed",
  place_off: "this place is switched off",
  sender_not_in_group: "sender may not speak in this group",
} as const satisfies { readonly [code in RefusalReason]?: string };

/** What the config says about one account. */
/** When the agent answers in a group: to its mention alone, or to everything. */
export type Activation = "mention" | "always";

export interface AccessPolicy {
  readonly dmPolicy: DmPolicy;
  readonly allowFrom: readonly string[];
  readonly allowBots: boolean | "mentions";
  /** The rules of groups and channels. */
  readonly rules: (place: Place) => PlaceRules;
}

/** Null for an account that the config does not have. */
export type PolicyOf = (account: Pick<Inbound, "channel" | "account">) => AccessPolicy | null;

export type Admission =
  | { readonly kind: "turn"; readonly owner: boolean; readonly authority: string }
  /** The sender may speak but did not call the agent: the message becomes context and starts no turn. */
  | { readonly kind: "context" }
  | {
      readonly kind: "refused";
      readonly code: keyof typeof refusalWords;
      readonly reason: string;
      readonly say?: string;
    };

export interface AdmitOptions {
  readonly policy: PolicyOf;
  readonly isOwner: (who: Pick<Inbound, "channel" | "account" | "sender">) => Promise<boolean>;
  readonly pairing: Pick<PairingStore, "isPaired" | "ask">;
  readonly botLoops: BotLoops;
  /** Default: derived from whether the sender is an owner. */
  readonly authority?: (inbound: Inbound, owner: boolean) => string;
}

interface Call {
  /** True for a command of ours, which calls the agent as a mention does. */
  readonly isSlashCommand: boolean;
  /** The session's /activation setting; read only when it decides. */
  readonly activation: () => Promise<Activation | null>;
}

export type Admit = (inbound: Inbound, call: Call) => Promise<Admission>;

export function admission(options: AdmitOptions): Admit {
  const turn = async (inbound: Inbound): Promise<Admission> => {
    const owner = await options.isOwner(inbound);
    return {
      kind: "turn",
      owner,
      authority: options.authority?.(inbound, owner) ?? (owner ? "owner" : "member"),
    };
  };

  async function direct(inbound: Inbound, { dmPolicy, allowFrom }: AccessPolicy): Promise<Admission> {
    const listed = allowFrom.includes(inbound.sender.id);
    switch (dmPolicy) {
      case "disabled":
        return refused("dm_disabled");
      case "open":
        return listed || allowFrom.includes("*") ? turn(inbound) : refused("not_in_allow_from");
      case "allowlist":
        return listed ? turn(inbound) : refused("not_in_allow_from");
      case "pairing": {
        if (listed || (await options.isOwner(inbound)) || (await options.pairing.isPaired(inbound)))
          return turn(inbound);
        const answer = await options.pairing.ask(inbound);
        if (answer.kind !== "asked")
          return refused(answer.kind === "pending" ? "pairing_pending" : "too_many_pairings");
        return refused("pairing_asked", pairingText(inbound, answer.code));
      }
    }
  }

  async function shared(inbound: Inbound, call: Call, rules: PlaceRules): Promise<Admission> {
    if (rules.policy === "disabled") return refused("group_disabled");
    if (!rules.served) return refused("group_not_listed");
    if (!rules.enabled) return refused("place_off");
    if (rules.senders !== null && !isAmong(inbound.sender, rules.senders))
      return refused("sender_not_in_group");
    if (inbound.addressed || call.isSlashCommand) return turn(inbound);
    const activation = await call.activation();
    if (rules.ignoresOthersMentions === true && inbound.mentions.length > 0) return { kind: "context" };
    const needsMention = activation === null ? rules.requireMention : activation === "mention";
    return needsMention ? { kind: "context" } : turn(inbound);
  }

  return async (inbound, call) => {
    const policy = options.policy(inbound);
    if (policy === null) return refused("no_policy");
    const { sender, address } = inbound;
    if (sender.id === "") return refused("no_sender_id");
    if (sender.isBot && !hearsBot(inbound, policy)) return refused("sender_is_bot");
    const admitted = await (address.kind === "dm"
      ? direct(inbound, policy)
      : shared(inbound, call, policy.rules(inbound)));
    if (admitted.kind !== "turn" || !sender.isBot) return admitted;
    return options.botLoops.passes(inbound) ? admitted : refused("bot_loop");
  };
}

/** A reply to a bot is no mention: that is how two bots begin to answer each other. */
function hearsBot({ addressed, replyTo }: Inbound, { allowBots }: AccessPolicy): boolean {
  return allowBots === "mentions" ? addressed && replyTo?.toBot !== true : allowBots;
}

function refused(code: keyof typeof refusalWords, say?: string): Admission {
  return { kind: "refused", code, reason: refusalWords[code], ...(say === undefined ? {} : { say }) };
}

function isAmong({ id, roles = [] }: Inbound["sender"], allowed: Senders): boolean {
  return (
    allowed.users.includes(id) ||
    allowed.users.includes("*") ||
    roles.some((role) => allowed.roles.includes(role))
  );
}

function pairingText(inbound: Inbound, code: string): string {
  return [
    "I do not know you yet, so I cannot answer.",
    `Your ${inbound.channel} id: \`${inbound.sender.id}\``,
    `Pairing code: \`${code}\``,
    `Ask the operator to run \`parley pair approve ${code}\` within an hour.`,
  ].join("\n");
}
