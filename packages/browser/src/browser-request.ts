// Defines what a browser is asked to do, and what it answers.

export interface BrowserRequest {
  readonly action:
    | "open"
    | "navigate"
    | "back"
    | "snapshot"
    | "click"
    | "type"
    | "press"
    | "select"
    | "hover"
    | "scroll"
    | "upload"
    | "wait"
    | "screenshot"
    | "pdf"
    | "tabs"
    | "focus"
    | "close"
    | "console"
    | "dialog"
    | "evaluate";
  readonly url?: string | undefined;
  /** `t1`; absent: the tab used last. */
  readonly tab?: string | undefined;
  /** `e12`, of the last snapshot. */
  readonly ref?: string | undefined;
  /** To type, to wait for, to answer a dialog with, to evaluate. */
  readonly text?: string | undefined;
  readonly key?: string | undefined;
  readonly values?: readonly string[] | undefined;
  readonly files?: readonly { readonly name: string; readonly bytes: Uint8Array }[] | undefined;
  readonly submit?: boolean | undefined;
  readonly fullPage?: boolean | undefined;
  readonly accept?: boolean | undefined;
  /** Of a snapshot, most. */
  readonly textChars: number;
}

export interface BrowserAnswer {
  readonly text: string;
  /** Of the page, afterwards; null where there is none. */
  readonly url: string | null;
  readonly picture?: Uint8Array;
  /** A PDF that was made, and files that the page let go down. */
  readonly files: readonly { readonly name: string; readonly bytes: Uint8Array }[];
}
