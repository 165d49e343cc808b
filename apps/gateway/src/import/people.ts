// Reads whom an OpenClaw home let in: pairings kept beside the config, and who its owners are. Nobody gets
// more than before: the owner is whom the config names, or else the one person who was let in at all.
import { join } from "node:path";
import type { Json, JsonObject } from "@parley/protocol";
import type { Met } from "./report.ts";
import { fileValue, namesIn, type Source } from "./source.ts";
import { at, isBlock, textIn } from "./tree.ts";

interface Pairing {
  readonly channel: "telegram" | "discord";
  readonly account: string;
  readonly senderId: string;
}

export interface People {
  readonly pairings: readonly Pairing[];
  /** `<channel>:<id>`; empty where the source's config says it, or where it cannot be known. */
  readonly owners: readonly string[];
  readonly met: readonly Met[];
}

const fileForm = /^([a-z]+)(?:-(.+))?-(allowFrom|pairing)\.json$/;

export function readPeople(source: Source): People {
  const folder = join(source.folder, "credentials");
  const pairings: Pairing[] = [];
  const met: Met[] = [];
  for (const name of !source.isHome ? [] : namesIn(folder)) {
    const path = join(folder, name);
    const [, channel = "", account = "default", kind] = fileForm.exec(name) ?? [];
    if (kind === undefined) {
      met.push({
        what: "file",
        name: path,
        fate: "refused",
        why: "credentials of this kind are not used by Parley",
      });
      continue;
    }
    if (kind === "pairing") {
      met.push({
        what: "file",
        name: path,
        fate: "refused",
        why: "codes end after an hour: whoever waits gets a new one",
      });
      continue;
    }
    const data = fileValue(path) as Json;
    const listed = Array.isArray(data) ? data : isBlock(data) ? (data["allowFrom"] ?? data["entries"]) : null;
    for (const entry of Array.isArray(listed) ? (listed as readonly Json[]) : []) {
      const written = isBlock(entry) ? entry["id"] : entry;
      const id = (textIn(written) ?? "").replace(/^(?:tg|telegram|discord|user):/i, "");
      const person = `${channel}:${account}:${id}`;
      if (channel !== "telegram" && channel !== "discord")
        met.push({
          what: "person",
          name: person,
          fate: "refused",
          why: `Parley does not speak on ${channel}`,
        });
      else if (!/^[1-9]\d{0,19}$/.test(id))
        met.push({
          what: "person",
          name: person,
          fate: "refused",
          why: "people are known by their numeric id",
        });
      else pairings.push({ channel, account, senderId: id });
    }
  }
  return { pairings, owners: ownersOf(source.config, pairings), met };
}

function ownersOf(config: JsonObject, pairings: readonly Pairing[]): readonly string[] {
  const named = at(config, ["commands", "ownerAllowFrom"]);
  if (Array.isArray(named) && named.length > 0) return [];
  const listed = (["telegram", "discord"] as const).flatMap((channel) => {
    const allowed =
      at(config, ["channels", channel, "allowFrom"]) ?? at(config, ["channels", channel, "dm", "allowFrom"]);
    const ids = (Array.isArray(allowed) ? (allowed as readonly Json[]) : []).map((id) =>
      (textIn(id) ?? "").replace(/^(?:tg|telegram|discord|user):/i, ""),
    );
    const accounts = at(config, ["channels", channel, "accounts"]);
    // Accounts have people of their own, so that one person cannot be told from many.
    const more = isBlock(accounts) ? ["*"] : [];
    const paired = pairings.filter((each) => each.channel === channel).map(({ senderId }) => senderId);
    const all = [...new Set([...ids, ...more, ...paired])];
    return all.length === 1 && /^[1-9]\d{0,19}$/.test(all[0] ?? "")
      ? [`${channel}:${all[0]}`]
      : all.length > 1
        ? [null]
        : [];
  });
  return listed.includes(null) ? [] : listed.filter((id) => id !== null);
}
