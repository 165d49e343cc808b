// The control plane's methods for canvases: the pages that agents show.
import { z } from "zod";

const canvas = z.object({
  id: z.string(),
  session: z.string(),
  agent: z.string(),
  title: z.string(),
  version: z.number().int(),
  shown: z.boolean(),
  atMs: z.number(),
});

export const canvasMethods = {
  "canvas.list": {
    scope: "read",
    sessions: "all",
    needs: "store",
    params: z.object({}),
    result: z.object({ canvases: z.array(canvas) }),
  },
  /** A link that works once and only shows: nobody presses in it for somebody else. */
  "canvas.link": {
    scope: "read",
    sessions: "key",
    needs: "store",
    params: z.object({ key: z.string().min(1).max(1024) }),
    /** `url`: null where the gateway does not know its address. */
    result: z.object({ path: z.string(), url: z.string().nullable() }),
  },
} as const;
