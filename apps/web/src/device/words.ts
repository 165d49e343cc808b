// The words of the page that makes this browser a device.
import type { DeviceCommand } from "@parley/protocol";
import type { PageGrant } from "./abilities.ts";

const commands: { readonly [command in DeviceCommand]?: string } = {
  notify: "shows a message",
  camera: "takes a picture",
  microphone: "records sound",
  location: "reads where this is",
  clipboard_read: "reads the clipboard",
  clipboard_write: "writes the clipboard",
};

export const words = {
  title: "This device",
  unpaired: "This browser is no device of your agent yet.",
  how: "Scan the code that the console (Devices) or `parley devices pair` shows, or paste its link here.",
  paste: "Link or code",
  next: "Next",
  asks1: (name: string) => `Your agent wants to use this browser as “${name}”.`,
  choose: "Choose what it may do here. You can change it at any time.",
  pair: "Pair this device",
  pairing: "Pairing…",
  bad: "That is no pairing link.",
  grants: {
    notify: "Show messages, also when this page is closed",
    camera: "Take a picture with the camera",
    microphone: "Record up to a minute of sound",
    location: "Read where this device is",
    clipboard: "Read and write the clipboard",
    share: "Get what you share with it from other apps",
  } satisfies { readonly [grant in PageGrant]: string },
  as: (name: string) => `Paired as “${name}”`,
  online: "Connected",
  offline: "Not connected; trying again",
  pushOn: "Wakes up when the page is closed.",
  pushOff: "Messages come only while this page is open",
  keepOpen: "Pictures, sound, location and the clipboard need this page open.",
  waits: (command: DeviceCommand) => `Your agent ${commands[command] ?? command}`,
  allow: "Do it now",
  refuse: "Refuse",
  asks: (command: DeviceCommand) => `Your agent ${commands[command] ?? command}`,
  tap: "Tap to let it.",
  log: "Just now",
  did: (command: DeviceCommand, isOk: boolean) => `${commands[command] ?? command}${isOk ? "" : ": failed"}`,
  sent: "shared with the agent",
  notSent: (why: string) => `not shared: ${why}`,
  tooLarge: (name: string) => `[${name} is too large to be shared]`,
  leave: "Forget this device",
  leaving: "The agent cannot use this browser any more.",
  revoked: "This device was revoked. Pair it again with a new code.",
  noStore: "This browser keeps nothing for pages (a private window?), so it cannot be a device.",
  noNet: "The gateway cannot be reached.",
};
