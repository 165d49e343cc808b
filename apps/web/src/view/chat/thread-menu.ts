// Lists what can be done with one conversation, from its row or from the line above it. Nothing deletes:
// one taken off the list is put back by a press, or by a message.
import { menu, type MenuItem } from "../../parts/menu.ts";
import { t } from "../../texts/texts.ts";
import { titleOf, type Thread } from "./thread-list.ts";

const words = t.chat.menu;

export interface ThreadMenuActs {
  readonly name: (row: Thread) => void;
  readonly pin: (row: Thread) => void;
  readonly export: (row: Thread) => void;
  readonly remove: (row: Thread) => void;
}

/** The first conversation stays on the list. */
function threadItems(row: Thread, acts: ThreadMenuActs, mayWrite: boolean): readonly MenuItem[] {
  const { thread, pinned } = row;
  const saved: MenuItem = { name: words.export, icon: "save", run: () => acts.export(row) };
  if (!mayWrite) return [saved];
  return [
    { name: words.name, icon: "pen", run: () => acts.name(row) },
    { name: pinned ? words.unpin : words.pin, icon: "pin", run: () => acts.pin(row) },
    saved,
    ...(thread === null
      ? []
      : [
          {
            name: words.remove,
            icon: "away",
            look: "danger",
            means: words.removeMeans,
            run: () => acts.remove(row),
          } satisfies MenuItem,
        ]),
  ];
}

export function threadMenu(row: Thread, acts: ThreadMenuActs, mayWrite: boolean): unknown {
  return menu(t.chat.menuOf(titleOf(row)), () => threadItems(row, acts, mayWrite));
}
