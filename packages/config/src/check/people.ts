// Checks the places where the config names people: owners, approvers, links, tools by sender. Parley compares
// ids as they stand, so an id that nobody can have is a mistake: what it gives or takes would silently belong
// to nobody.
import type { Config } from "../config.ts";
import type { ConfigPath } from "../problem.ts";
import { finding, type Finding } from "../validate/validate.ts";

export function peopleFindings(config: Config): readonly Finding[] {
  const { commands, approvals, tools } = config;
  const senders = Object.keys(tools.toolsBySender).filter((sender) => sender !== "*");
  return [
    ...listFindings(config, ["commands", "ownerAllowFrom"], commands.ownerAllowFrom),
    ...listFindings(config, ["approvals", "exec", "approvers"], approvals.exec.approvers ?? []),
    ...senders.flatMap((sender) => personFindings(config, ["tools", "toolsBySender", sender], sender)),
    ...linkFindings(config),
  ];
}

function listFindings(config: Config, at: ConfigPath, ids: readonly string[]): Finding[] {
  return ids.flatMap((id, index) => personFindings(config, [...at, index], id));
}

function personFindings({ channels }: Config, at: ConfigPath, id: string): Finding[] {
  const [channel, peer] = [id.slice(0, Math.max(id.indexOf(":"), 0)), id.slice(id.indexOf(":") + 1)];
  if (!Object.hasOwn(channels, channel)) {
    return [
      finding(
        at,
        `"${id}" begins with no channel`,
        `Write "<channel>:<id>" with one of ${Object.keys(channels).join(", ")}`,
      ),
    ];
  }
  if (peer.includes("*")) return [finding(at, `"${id}" would mean everybody`, "Write one exact id")];
  return peer.startsWith("@")
    ? [finding(at, `"${id}" is a name, and names can be taken over by others`, "Use the numeric id")]
    : [];
}

function linkFindings({ session, channels }: Config): Finding[] {
  const found: Finding[] = [];
  const owners = new Map<string, string>();
  for (const [person, ids] of Object.entries(session.identityLinks)) {
    const at = ["session", "identityLinks", person];
    if (!/^[a-z][a-z0-9_-]*$/.test(person)) {
      found.push(
        finding(at, `"${person}" is not a link name`, 'Use a-z, 0-9, "_" and "-", beginning with a letter'),
      );
    } else if (person.startsWith("web-")) {
      found.push(finding(at, '"web-…" is how the gateway names web visitors', "Choose another name"));
    }
    for (const [index, id] of ids.entries()) {
      const owner = owners.get(id);
      const peer = id.slice(id.indexOf(":") + 1);
      const channel = id.slice(0, id.indexOf(":"));
      if (!Object.hasOwn(channels, channel)) {
        const known = Object.keys(channels).join(", ");
        found.push(
          finding(
            [...at, index],
            `there is no channel "${channel}"`,
            `Write "<channel>:<id>" with one of ${known}`,
          ),
        );
      } else if (peer.includes("*"))
        found.push(finding([...at, index], `"${id}" would link everybody`, "Write one exact id"));
      else if (peer.startsWith("@") || (/^(?:telegram|discord):/.test(id) && !/^[1-9]\d*$/.test(peer))) {
        found.push(finding([...at, index], `"${id}" is a name, not an id`, "Use the numeric id"));
      } else if (owner !== undefined)
        found.push(
          finding([...at, index], `"${id}" is linked to "${owner}" already`, "Keep one of the links"),
        );
      owners.set(id, person);
    }
  }
  return found;
}
