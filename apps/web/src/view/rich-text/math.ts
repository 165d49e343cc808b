// Shows the formulas of answers. What draws them is fetched when the first one is seen; until then, and where
// a formula cannot be drawn, its source stands there. It works on drafts too, which hold closed formulas
// only.
import type { drawFormulas } from "./formula.ts";

let drawing: { readonly drawFormulas: typeof drawFormulas } | "asked" | null = null;

const formulas = ".rich .math:not(.dressed), .rich code.language-math:not(.dressed)";

/** Repeats change nothing. `again` is called when more can be drawn than could be now. */
export function dressMath(root: ParentNode, again: () => void): void {
  const found = [...root.querySelectorAll<HTMLElement>(formulas)].filter((each) => !isOpenFence(each));
  if (found.length === 0 || drawing === "asked") return;
  if (drawing !== null) return drawing.drawFormulas(found, again);
  drawing = "asked";
  void import("./formula.ts").then(
    (module) => {
      drawing = module;
      again();
    },
    // The gateway is away or was updated; the next formula asks again.
    () => (drawing = null),
  );
}

/** The fence that a draft ends in is closed for show only. */
function isOpenFence(code: Element): boolean {
  let last = code.localName === "code" ? code.closest(".draft .rich") : null;
  while (last !== null && last !== code) last = last.lastElementChild;
  return last !== null;
}
