// The text of a stream that is not settled yet, and how far it has been read.

export interface Cursor {
  rest: string;
  at: number;
  /** Nothing more comes: what is undecided now is decided by what there is. */
  ended: boolean;
}

/** `on`: something was read; `hold`: more must come first. */
export type Step = "on" | "hold";
