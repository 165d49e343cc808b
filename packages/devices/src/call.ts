// Describes one call to a paired device as it is stored. Its id is made from turn and call, so that there is
// one however often the tool runs; beside it stands a mark under the device, by which that finds its calls.
import { createHash } from "node:crypto";
import { deviceRequest, deviceResult } from "@parley/protocol";
import { z } from "zod";

const callSchema = z.object({
  v: z.literal(1),
  id: z.string(),
  device: z.string(),
  /** Its name, for people. */
  name: z.string(),
  session: z.string(),
  turn: z.string(),
  request: deviceRequest,
  untilMs: z.number(),
  /** `withdrawn`: what asked for it has ended. `revoked`: the device was put out. */
  state: z.enum(["open", "done", "withdrawn", "revoked"]),
  /** The turn went on without the result, which then comes as a message of its own. */
  later: z.boolean(),
  result: deviceResult
    .omit({ picture: true, sound: true })
    .extend({
      sound: z
        .object({ path: z.string(), words: z.string().nullable() })
        .or(z.object({ refused: z.string() }))
        .optional(),
      picture: z
        .object({ path: z.string(), mediaType: z.string() })
        .or(z.object({ refused: z.string() }))
        .optional(),
    })
    .optional(),
});
export type DeviceCall = z.infer<typeof callSchema>;

export const callPrefix = "device-call:";
export const openPrefix = "device-open:";

/** Where pushes for a device go. */
export const pushCell = (device: string): string => `device-push:${device}`;

export function parseCall(text: string): DeviceCall {
  return callSchema.parse(JSON.parse(text));
}

export function callId(turn: string, callId: string): string {
  return createHash("sha256")
    .update(JSON.stringify(["device", turn, callId]))
    .digest("hex")
    .slice(0, 32);
}

/** The stream by which a connected device hears that a call waits. */
export function deviceStream(device: string): string {
  return `device:${device}`;
}
