// The control plane's methods for paired devices: computers and phones of people, on which an agent may do
// what they granted and nothing else. Only a device itself calls `device.*`.
import { z } from "zod";

/** What a person may grant on a device. */
export const deviceGrants = ["notify", "run", "files", "screenshot"] as const;
export type DeviceGrant = (typeof deviceGrants)[number];

/** What may be asked of a device, and the grant that it needs. */
export const deviceCommands = {
  notify: "notify",
  run: "run",
  file_read: "files",
  file_list: "files",
  file_write: "files",
  screenshot: "screenshot",
} as const satisfies { readonly [command: string]: DeviceGrant };
export type DeviceCommand = keyof typeof deviceCommands;
export const deviceCommandNames = Object.keys(deviceCommands) as [DeviceCommand, ...DeviceCommand[]];

/** Most characters of a text that a device hands back or a file that is written on one. */
export const deviceTextChars = 65_536;
/** A picture as base64; with its frame it fits into what the control plane reads. */
const pictureChars = 1_900_000;

export const deviceRequest = z.object({
  command: z.enum(deviceCommandNames),
  /** Of notify, and of the file that is written. */
  text: z.string().max(deviceTextChars).optional(),
  title: z.string().max(200).optional(),
  /** A program and its arguments; no shell reads them. */
  argv: z.array(z.string().max(8_192)).min(1).max(100).optional(),
  /** Inside the folder that the device offers. */
  path: z.string().max(1_024).optional(),
});
export type DeviceRequest = z.infer<typeof deviceRequest>;

/** Told by the device of itself; nobody relies on it. */
export const deviceAbout = z.object({
  host: z.string().max(128),
  platform: z.string().max(64),
  commands: z.array(z.enum(deviceCommandNames)).max(20),
  /** What it lets run. */
  allow: z.array(z.string().max(200)).max(50).optional(),
});
export type DeviceAbout = z.infer<typeof deviceAbout>;

export const deviceResult = z.object({
  ok: z.boolean(),
  text: z.string().max(deviceTextChars),
  /** Base64 of a picture. */
  picture: z.string().max(pictureChars).optional(),
});
export type DeviceResult = z.infer<typeof deviceResult>;

const id = z.string().min(1).max(64);

export const deviceMethodTable = {
  /** Makes a code that pairs one device, once, within ten minutes; what it grants never grows. */
  "devices.pair": {
    scope: "admin",
    sessions: "none",
    needs: "daemon",
    params: z.object({
      name: z.string().regex(/^[\w.-]{1,40}$/u, "letters, digits, dots and dashes, at most 40"),
      grants: z.array(z.enum(deviceGrants)).min(1).max(deviceGrants.length),
    }),
    result: z.object({
      name: z.string(),
      grants: z.array(z.enum(deviceGrants)),
      code: z.string(),
      /** Where the gateway listens, as this machine reaches it or as it is told to the world. */
      url: z.string(),
    }),
  },
  /** The calls that wait for this device; from then on it hears the event `device.call` for each new one. */
  "device.calls": {
    scope: "device",
    sessions: "none",
    needs: "daemon",
    params: z.object({ about: deviceAbout.optional() }),
    result: z.object({
      name: z.string(),
      grants: z.array(z.enum(deviceGrants)),
      calls: z.array(deviceRequest.extend({ id: z.string(), forMs: z.number() })),
    }),
  },
  /** Takes the result of a call, once; false for a call that is over, or was never made to this device. */
  "device.result": {
    scope: "device",
    sessions: "none",
    needs: "daemon",
    params: deviceResult.extend({ id }),
    result: z.object({ accepted: z.boolean() }),
  },
} as const;
