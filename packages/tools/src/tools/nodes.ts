// Lets an owner's agent use paired devices: says which there are, and asks one to do what was granted on it.
// The call waits without a slot until the device answers or its time is over; its answer is a stranger's.
import { deviceCommandNames, deviceRequest, Fault, visibleText } from "@parley/protocol";
import { z } from "zod";
import type { PairedDevices } from "../ports/devices.ts";
import type { ToolContext } from "../context.ts";
import type { Unavailable } from "../ports/done.ts";
import { defineTool, textResult } from "../define-tool.ts";
import { deviceAction } from "../exec/exec-action.ts";
import type { Tool, ToolResult } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const { text, title, argv, path, facing, seconds } = deviceRequest.shape;
const args = z.object({
  action: z.enum(["list", "describe", "invoke"]),
  node: z.string().min(1).max(64).optional().describe("A device by name or id."),
  command: z.enum(deviceCommandNames).optional().describe("For invoke."),
  text: text.describe("notify: the message; file_write: the whole file; clipboard_write."),
  title,
  argv: argv.describe('run: a program and its arguments, as ["git", "status"]; no shell.'),
  path: path.describe("file_*: inside the folder that the device offers."),
  facing: facing.describe("camera"),
  seconds: seconds.describe("microphone"),
  timeoutSeconds: z
    .number()
    .int()
    .min(1)
    .max(86_400)
    .default(60)
    .describe("invoke: how long to wait, also for a device that is asleep."),
});

export const nodesListing: ToolListing = {
  name: "nodes",
  label: "Nodes",
  section: "nodes",
  profiles: [],
  effect: "sends",
  summary: "List, notify or use paired devices",
};

export function nodes({ devices, owner, vision }: ToolContext): Tool | Unavailable {
  if (!owner) return { unavailable: "only owners may use it (commands.ownerAllowFrom)" };
  if (devices === undefined) return { unavailable: "no device can be reached from here" };
  if (!devices.some()) return { unavailable: "no device is paired (parley devices pair)" };
  return defineTool({
    ...nodesListing,
    description:
      "Paired devices of the user: list them, describe one, invoke a command that was granted on it. invoke waits for the result.",
    args,
    keyed: true,
    /** A command asks as one on this machine does; the device's own list of commands comes after. */
    async action({ action, node = "", command, argv: words = [] }) {
      if (action !== "invoke" || command !== "run" || words.length === 0) return null;
      const { id, name, grants } = await deviceNamed(devices, node);
      if (!grants.includes("run"))
        throw new Fault("denied", `${name} was paired without the grant "run"; it has ${grants.join(", ")}`);
      return deviceAction(`${name} (${id})`, words);
    },
    outside({ action, node = "", command, ...rest }, _scope, { sources }) {
      // What a device said goes nowhere else by this, and it does no more than its person lets it.
      const own = `device ${node}`.toLowerCase();
      if (action !== "invoke" || sources.every((source) => source.toLowerCase() === own)) return null;
      const { timeoutSeconds: _timeout, ...words } = rest;
      return `${command ?? ""} on device ${visibleText(node)}: ${visibleText(JSON.stringify(words))}`;
    },
    async run({ action, node, command, timeoutSeconds, ...words }, scope): Promise<ToolResult> {
      if (action === "list") return listed(devices);
      if (node === undefined) throw new Fault("invalid", `${action} needs node`);
      if (action === "describe") return described(devices, node);
      if (command === undefined) throw new Fault("invalid", "invoke needs command");
      const { picture, source, cells, waitsFor, isError, ...answer } = await devices.invoke(scope, {
        node,
        timeoutSeconds,
        command,
        ...words,
      });
      const unseen = picture !== undefined && !vision ? "\n[a picture, which this model does not see]" : "";
      return {
        content: [
          { type: "text", text: `${answer.text}${unseen}` },
          ...(picture !== undefined && vision ? [{ type: "image" as const, ...picture }] : []),
        ],
        ...(isError === true ? { isError } : {}),
        ...(source === undefined ? {} : { untrusted: { source } }),
        ...(cells === undefined ? {} : { effects: { cells } }),
        ...(waitsFor === undefined ? {} : { waitsFor }),
      };
    },
  });
}

type Known = Awaited<ReturnType<PairedDevices["list"]>>[number];

async function listed(devices: PairedDevices): Promise<ToolResult> {
  const all = await devices.list();
  if (all.length === 0)
    return textResult("No device is paired. An operator pairs one by `parley devices pair`.");
  return textResult(all.map(deviceLine).join("\n"));
}

function deviceLine({ name, id, grants, connected, lastSeenAtMs }: Known): string {
  const seen = lastSeenAtMs === null ? "never seen" : `last seen ${new Date(lastSeenAtMs).toISOString()}`;
  return `${name} (${id}): ${grants.join(", ")}; ${connected ? "connected" : seen}`;
}

async function deviceNamed(devices: PairedDevices, node: string): Promise<Known> {
  const all = await devices.list();
  const found = all.find(({ id, name }) => id === node || name.toLowerCase() === node.trim().toLowerCase());
  if (found === undefined)
    throw new Fault(
      "missing",
      `there is no device ${JSON.stringify(node)}; there are: ${all.map(({ name }) => name).join(", ") || "none"}`,
    );
  return found;
}

async function described(devices: PairedDevices, node: string): Promise<ToolResult> {
  const found = await deviceNamed(devices, node);
  const { about } = found;
  if (about === null) return textResult(`${deviceLine(found)}\nIt has said nothing of itself.`);
  const lines = [
    deviceLine(found),
    `It says: ${about.host}, ${about.platform}; commands ${about.commands.join(", ") || "none"}`,
    ...(about.allow === undefined ? [] : [`lets run: ${about.allow.join("; ")}`]),
  ];
  return { ...textResult(lines.join("\n")), untrusted: { source: `device ${found.name}` } };
}
