// The control plane's methods for paired devices: computers and phones of people, on which an agent may do
// what they granted and nothing else. Only a device itself calls `device.*`.
import { z } from "zod";

/** What a person may grant on a device. */
export const deviceGrants = [
  "notify",
  "run",
  "files",
  "screenshot",
  "camera",
  "microphone",
  "location",
  "clipboard",
  "share",
] as const;
export type DeviceGrant = (typeof deviceGrants)[number];

/** What may be asked of a device, and the grant that it needs. */
export const deviceCommands = {
  notify: "notify",
  run: "run",
  file_read: "files",
  file_list: "files",
  file_write: "files",
  screenshot: "screenshot",
  camera: "camera",
  microphone: "microphone",
  location: "location",
  clipboard_read: "clipboard",
  clipboard_write: "clipboard",
} as const satisfies { readonly [command: string]: DeviceGrant };
export type DeviceCommand = keyof typeof deviceCommands;
export const deviceCommandNames = Object.keys(deviceCommands) as [DeviceCommand, ...DeviceCommand[]];

/** Most characters of a text that a device hands back or a file that is written on one. */
export const deviceTextChars = 65_536;
/** A picture or a recording as base64; with its frame it fits into what the control plane reads. */
export const deviceFileChars = 1_900_000;
/** Longest recording that is asked of a device. */
export const deviceSoundSeconds = 60;

export const deviceRequest = z.object({
  command: z.enum(deviceCommandNames),
  /** Of notify, of the file that is written, and for the clipboard. */
  text: z.string().max(deviceTextChars).optional(),
  title: z.string().max(200).optional(),
  /** A program and its arguments; no shell reads them. */
  argv: z.array(z.string().max(8_192)).min(1).max(100).optional(),
  /** Inside the folder that the device offers. */
  path: z.string().max(1_024).optional(),
  /** Which camera; a device with one takes that. */
  facing: z.enum(["front", "back"]).optional(),
  /** Length of the recording. */
  seconds: z.number().int().min(1).max(deviceSoundSeconds).optional(),
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
  picture: z.string().max(deviceFileChars).optional(),
  /** Base64 of a recording. */
  sound: z.string().max(deviceFileChars).optional(),
});
export type DeviceResult = z.infer<typeof deviceResult>;

/** Where a push service takes messages for this device, and the keys that only its browser reads. */
export const pushSubscription = z.object({
  endpoint: z.url({ protocol: /^https?$/ }).max(2_048),
  p256dh: z.string().regex(/^[\w-]{87}=?$/),
  auth: z.string().regex(/^[\w-]{22}={0,2}$/),
});
export type PushSubscription = z.infer<typeof pushSubscription>;

const id = z.string().min(1).max(64);
const grants = z.array(z.enum(deviceGrants)).max(deviceGrants.length);

export const deviceMethodTable = {
  /** Makes a code that pairs one device, once, within ten minutes; what it grants never grows. */
  "devices.pair": {
    scope: "admin",
    sessions: "none",
    needs: "daemon",
    params: z.object({
      name: z.string().regex(/^[\w.-]{1,40}$/u, "letters, digits, dots and dashes, at most 40"),
      grants: grants.min(1),
    }),
    result: z.object({
      name: z.string(),
      grants,
      code: z.string(),
      /** Where the gateway listens, as this machine reaches it or as it is told to the world. */
      url: z.string(),
      /** Opened in a browser, it makes that a device. */
      link: z.string(),
    }),
  },
  /**
   * Makes a device's token worthless at once and closes what it has open; its id, grants, scopes and waiting
   * calls stay. Of a device with scopes the new token is returned this one time, to callers that have them
   * all. A paired device chooses its own by a code, which it hears over its connection.
   */
  "devices.rotate": {
    scope: "admin",
    sessions: "none",
    needs: "daemon",
    params: z.object({
      id,
      /** Tells the code nobody over a connection by the old token, which may be in other hands. */
      byHand: z.boolean().optional(),
    }),
    result: z.object({
      id: z.string(),
      name: z.string(),
      closed: z.number().int(),
      token: z.string().optional(),
      /** Of a paired device. */
      code: z.string().optional(),
      url: z.string().optional(),
      link: z.string().optional(),
      grants: grants.optional(),
      /** True when the device heard the code. */
      handed: z.boolean().optional(),
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
      grants,
      /** What its person may switch on there: what the code granted, less what the operator took back. */
      most: grants,
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
  /** The device's person switches its grants; what the operator did not grant is left out. */
  "device.grants": {
    scope: "device",
    sessions: "none",
    needs: "daemon",
    params: z.object({ grants }),
    result: z.object({ grants, most: grants }),
  },
  /** The device goes: its token is worthless from then on. */
  "device.leave": {
    scope: "device",
    sessions: "none",
    needs: "daemon",
    params: z.object({}),
    result: z.object({ name: z.string() }),
  },
  /** Keeps where pushes for this device go; null: nowhere. Without one it only tells the gateway's key. */
  "device.push": {
    scope: "device",
    sessions: "none",
    needs: "daemon",
    params: z.object({ subscription: pushSubscription.nullable().optional() }),
    /** The public key for which a browser subscribes. */
    result: z.object({ key: z.string() }),
  },
  /** What its person shares from another app, as a message of whoever paired the device. */
  "device.share": {
    scope: "device",
    sessions: "none",
    needs: "daemon",
    params: z.object({
      text: z.string().max(deviceTextChars),
      files: z
        .array(z.object({ name: z.string().max(200), mediaType: z.string().max(100), data: z.string() }))
        .max(10),
      idempotencyKey: z.string().min(1).max(128),
    }),
    result: z.object({ id: z.string() }),
  },
} as const;
