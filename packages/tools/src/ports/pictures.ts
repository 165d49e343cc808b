// The ports to pictures: kept for models, made by models, and looked at for models that do not see.
import type { ImageContent, Usage } from "@parley/protocol";
import type { ToolScope } from "../tool.ts";
import type { Unavailable } from "./done.ts";

/** A picture that a model may be shown: upright, small enough, without what its camera noted. */
export interface KeptPicture {
  /** Under the media folder. */
  readonly path: string;
  readonly mediaType: string;
  readonly width: number;
  readonly height: number;
  /** Of the picture that came in. */
  readonly original: { readonly width: number; readonly height: number; readonly frames: number };
}

/** Pictures on their way to a model, whose bytes never enter the transcript. */
export interface Pictures {
  /** Checks, scales and stores one. `refused`: why no model is shown it; words that go on after its name. */
  keep(bytes: Uint8Array, signal: AbortSignal): Promise<KeptPicture | { readonly refused: string }>;
}

/** The making of pictures, as the config has it at that moment. */
export interface Drawing {
  /** `<provider>/<model>` that is asked first. */
  model(): { readonly model: string } | Unavailable;
  /** Throws Fault. */
  draw(
    request: {
      readonly prompt: string;
      readonly count: number;
      readonly size?: string | undefined;
      /** Kept ones, from which the new ones are made. */
      readonly images?: readonly ImageContent[];
    },
    signal: AbortSignal,
  ): Promise<{
    readonly pictures: readonly { readonly bytes: Uint8Array; readonly extension: string }[];
    /** That made them. */
    readonly model: string;
    readonly usage: Usage;
  }>;
}

/** The pictures of a session, and the model that looks at them for one that does not see. */
export interface SeenPictures {
  /**
   * Those that the session showed and those of the messages that the turn answers, newest last. The same
   * message's pictures have the same number.
   */
  shown(scope: ToolScope): Promise<readonly (ImageContent & { readonly message: number })[]>;
  /** `<provider>/<model>`, as the config names it. */
  describer(): { readonly model: string } | Unavailable;
  /** What that model says of the pictures, and its name. Throws Fault. */
  describe(
    scope: ToolScope,
    request: { readonly prompt: string; readonly pictures: readonly ImageContent[] },
  ): Promise<{ readonly text: string; readonly model: string }>;
}
