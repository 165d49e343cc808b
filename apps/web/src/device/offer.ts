// Reads what a pairing link offers: the code, and what the agent wants to use. It stands behind the #, so no
// server sees it, and the page shows it before anything is agreed.
import { pageGrants, type PageGrant } from "./abilities.ts";

export interface Offer {
  readonly code: string;
  readonly name: string;
  readonly grants: readonly PageGrant[];
}

/** What stands behind the # of a pairing link; null where there is no code. */
export function offerIn(hash: string): Offer | null {
  const told = new URLSearchParams(hash.slice(1));
  const code = told.get("pair") ?? "";
  if (!/^[A-Za-z0-9]{16,64}$/.test(code)) return null;
  const asks = told.get("grants")?.split(",") ?? pageGrants;
  return {
    code,
    name: (told.get("name") ?? "").slice(0, 40),
    grants: pageGrants.filter((grant) => asks.includes(grant)),
  };
}
