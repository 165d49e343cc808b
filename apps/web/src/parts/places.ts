// The nine places of the rail, each with its icon and the letter that `g` takes there. What stands in a place
// is said by pages/list.ts; a place of which the token may see nothing is not shown.
import type { Scope } from "@parley/protocol";
import type { Page } from "./page.ts";
import type { t } from "../texts/texts.ts";
import type { IconName } from "./icons.ts";

export type PlaceName = keyof typeof t.places & IconName;

export const places: readonly { readonly name: PlaceName; readonly letter: string }[] = [
  { name: "chat", letter: "c" },
  { name: "overview", letter: "o" },
  { name: "activity", letter: "a" },
  { name: "approvals", letter: "p" },
  { name: "schedules", letter: "s" },
  { name: "agents", letter: "g" },
  { name: "channels", letter: "n" },
  { name: "usage", letter: "u" },
  { name: "system", letter: "y" },
];

/**
 * One page of the console. The first page of a place is what its icon opens; the others are tabs beside it.
 */
export interface PageEntry {
  /** The first word of its addresses: `#/approvals/<id>`. */
  readonly path: string;
  readonly place: PlaceName;
  readonly title: string;
  /** What a token needs to see it at all. */
  readonly scope: Scope;
  readonly load: () => Promise<new () => Page>;
}
