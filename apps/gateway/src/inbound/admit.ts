// May this sender speak here, and as whom? Keeps I13: no policy, an unreadable one or an unknown sender means no turn.
// It sees ids only, never names.
import type { Inbound } from "@parley/protocol";
import type { PairingBook } from "./pairing.ts";

export type DmPolicy = "pairing" | "allowlist" | "open" | "disabled";

/** What the config says about one account; absent means that nobody may speak there. */
export interface AccessPolicy {
  readonly dmPolicy: DmPolicy;
  readonly allowFrom: readonly string[];
}

export type Admission =
  | { readonly allow: true; readonly owner: boolean; readonly authority: string }
  | { readonly allow: false; readonly reason: string; readonly say?: string };

export interface AdmitOptions {
  readonly policy: (account: Pick<Inbound, "channel" | "account">) => AccessPolicy | null;
  readonly isOwner: (who: Pick<Inbound, "channel" | "account" | "sender">) => Promise<boolean>;
  readonly pairing: PairingBook;
}

export type Admit = (inbound: Inbound) => Promise<Admission>;

export function admission(options: AdmitOptions): Admit {
  const refuse = (reason: string, say?: string): Admission => ({ allow: false, reason, ...(say === undefined ? {} : { say }) });

  const accept = async (inbound: Inbound): Promise<Admission> => {
    const owner = await options.isOwner(inbound);
    return { allow: true, owner, authority: owner ? "owner" : "member" };
  };

  return async (inbound) => {
    const policy = options.policy(inbound);
    if (policy === null) return refuse("no policy for this account");
    if (inbound.sender.isBot) return refuse("sender is a bot");
    if (inbound.address.kind !== "dm") return refuse("groups are not admitted");
    const listed = policy.allowFrom.includes(inbound.sender.id);
    switch (policy.dmPolicy) {
      case "disabled":
        return refuse("direct messages are disabled");
      case "open":
        return listed || policy.allowFrom.includes("*") ? accept(inbound) : refuse("sender is not in allowFrom");
      case "allowlist":
        return listed ? accept(inbound) : refuse("sender is not in allowFrom");
      case "pairing": {
        if (listed || (await options.isOwner(inbound)) || (await options.pairing.isPaired(inbound))) return accept(inbound);
        const answer = await options.pairing.ask(inbound);
        if (answer.kind !== "asked") return refuse(answer.kind === "pending" ? "pairing is pending" : "too many pairing requests");
        return refuse("pairing asked", pairingText(inbound, answer.code));
      }
    }
  };
}

function pairingText(inbound: Inbound, code: string): string {
  return [
    "I do not know you yet, so I cannot answer.",
    `Your ${inbound.channel} id: \`${inbound.sender.id}\``,
    `Pairing code: \`${code}\``,
    `Ask the operator to run \`parley pair approve ${code}\` within an hour.`,
  ].join("\n");
}
