// Defines what a page and the frame that draws a diagram say to each other.

/** From the page: draw this. */
export interface DiagramOrder {
  readonly type: "parley-diagram-draw";
  readonly source: string;
  readonly isDark: boolean;
}

/** From the frame: how high the drawing is, or why there is none. It says nothing else, ever. */
export type DiagramAnswer =
  | { readonly type: "parley-diagram-drawn"; readonly heightPx: number }
  | { readonly type: "parley-diagram-failed"; readonly why: string };
