// canvas: the pages that agents show.
import { z } from "zod";

export const canvasSchema = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe("Whether agents have the tool canvas. Pages that are shown go on without it."),
  })
  .prefault({})
  .describe("The pages that agents show to people.");
