// The ports to the pages that agents show, and to what they look like.
import type { MediaFile } from "@parley/protocol";
import type { CallEffects, ToolScope } from "../tool.ts";
import type { Unavailable } from "./done.ts";

interface PageRenderer {
  /** Shows the page without a network and runs the scripts in order. Throws Fault. */
  render(
    page: { readonly html: string; readonly scripts: readonly string[] },
    signal: AbortSignal,
  ): Promise<{
    /** Of the last script. */
    readonly value: string;
    /** JPEG. */
    readonly picture: Uint8Array;
    readonly console: readonly string[];
  }>;
}

export interface Renderer {
  port(): PageRenderer | Unavailable;
}

interface CanvasDone {
  readonly text: string;
  readonly effects: CallEffects;
}

/** The canvas of a call's session. All that changes is returned as effects. */
export interface Canvases {
  /** Why there is none; null where there is one. */
  unavailable(): string | null;
  /** `draw`: a picture of the page for those who have no link; null where none can be made. */
  present(
    scope: ToolScope,
    page: {
      readonly title: string | undefined;
      readonly html: string;
      readonly draw: (html: string) => Promise<MediaFile | null>;
    },
  ): Promise<CanvasDone>;
  update(
    scope: ToolScope,
    page: { readonly title: string | undefined; readonly html: string },
  ): Promise<CanvasDone>;
  hide(scope: ToolScope): Promise<CanvasDone>;
  /** What is shown now. Throws Fault("missing"). */
  shown(scope: ToolScope): Promise<{
    readonly title: string;
    readonly version: number;
    readonly html: string;
    readonly scripts: readonly string[];
  }>;
  /** The script runs for everybody who looks, also later. */
  scripted(scope: ToolScope, script: string): Promise<CallEffects>;
}
