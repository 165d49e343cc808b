// Wires the pictures that models are shown: a process of its own checks and scales each (packages/media), and
// it is stored by its content, so that one that is sent again is recognised. Unused, nothing of it runs.
import { createHash } from "node:crypto";
import { utimes } from "node:fs/promises";
import { join } from "node:path";
import type { PictureReader } from "@parley/media";
import type { Clock } from "@parley/protocol";
import { mediaFolder } from "@parley/runner";
import type { KeptPicture, Pictures } from "@parley/tools";

export interface WiredPictures {
  readonly port: Pictures;
  close(): Promise<void>;
}

/** What came in last, by its hash: an album that is sent again is decoded once. */
const mostKnown = 200;

export function wirePictures(folder: string, clock: Clock): WiredPictures {
  const media = mediaFolder(folder);
  const known = new Map<string, KeptPicture>();
  let opened: Promise<PictureReader> | null = null;

  async function open(): Promise<PictureReader> {
    const { pictureReader } = await import("@parley/media");
    return pictureReader({ clock });
  }

  /** Null where it was not seen before, or where its file is gone. */
  async function again(hash: string): Promise<KeptPicture | null> {
    const found = known.get(hash);
    if (found === undefined) return null;
    const now = new Date(clock.now());
    // Its age says when it was last needed.
    const isThere = await utimes(join(folder, found.path), now, now).then(
      () => true,
      () => false,
    );
    return isThere ? found : null;
  }

  return {
    port: {
      async keep(bytes, signal) {
        const hash = createHash("sha256").update(bytes).digest("hex");
        const before = await again(hash);
        if (before !== null) return before;
        const fitted = await (await (opened ??= open())).fit(bytes, signal);
        if ("refused" in fitted) return fitted;
        const { bytes: fit, mediaType, extension, width, height, original } = fitted.picture;
        const kept = { path: await media.keep(fit, extension), mediaType, width, height, original };
        known.delete(hash);
        known.set(hash, kept);
        const [oldest] = known.keys();
        if (known.size > mostKnown && oldest !== undefined) known.delete(oldest);
        return kept;
      },
    },
    close: async () => (await opened)?.close(),
  };
}
