// Finds where the approvers of a call are reached: on the page, in the place that asked, or in private.
import type { Address } from "@parley/protocol";
import type { Surface } from "./approval-card.ts";

export interface Approvers {
  /** `<channel>:<id>` of the approvers; null stands for the owners. */
  readonly approvers: readonly string[] | null;
  readonly owners: () => Promise<readonly string[]>;
  /** The places in which approvers are asked about requests from a place that they share with others. */
  readonly target: "dm" | "channel" | "both";
  /** Accounts that can send, as `<channel>:<account>`. */
  readonly accounts: () => readonly Pick<Address, "channel" | "account">[];
}

/**
 * Clients on this channel hold a token of the gateway, so one that may administer or approve is the operator.
 */
const operators = "web";

export function approvalSurfaces(options: Approvers): {
  readonly approvers: () => Promise<readonly string[]>;
  readonly surfaces: (address: Address, owner: boolean) => Promise<readonly Surface[]>;
} {
  const approvers = async (): Promise<readonly string[]> => options.approvers ?? (await options.owners());

  function idsOn(channel: string, people: readonly string[]): readonly string[] {
    return people.flatMap((person) =>
      person.startsWith(`${channel}:`) ? [person.slice(channel.length + 1)] : [],
    );
  }

  async function surfaces(address: Address, owner: boolean): Promise<readonly Surface[]> {
    // Any reader of the page sees it; a press counts only if its token may approve.
    const page: readonly Surface[] = address.channel === operators ? [{ address, approvers: null }] : [];
    if (page.length > 0 && owner) return page;
    const people = await approvers();
    const here = idsOn(address.channel, people);
    if (address.kind === "dm" && here.includes(address.peer)) return [{ address, approvers: here }];
    const shared =
      address.kind !== "dm" && options.target !== "dm" && here.length > 0
        ? [{ address, approvers: here }]
        : [];
    if (shared.length > 0 && options.target === "channel") return shared;
    const privately = people.flatMap((person): Surface[] => {
      const [channel, peer] = [person.slice(0, person.indexOf(":")), person.slice(person.indexOf(":") + 1)];
      const account = options
        .accounts()
        .find(
          (each) =>
            each.channel === channel && (channel !== address.channel || each.account === address.account),
        );
      return account === undefined || channel === operators
        ? []
        : [{ address: { channel, account: account.account, kind: "dm", peer }, approvers: [peer] }];
    });
    return [...page, ...shared, ...privately];
  }

  return { approvers, surfaces };
}
