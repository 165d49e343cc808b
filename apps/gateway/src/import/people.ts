// Reads whom an OpenClaw home let in: pairings kept beside the config, and who its owners are. Nobody gets
// more than before: the owner is whom the config names, or else the one person who was let in at all.
import { join } from "node:path";
import type { Json, JsonObject } from "@parley/protocol";
import type { Met } from "./report.ts";
import { gatewayDatabase } from "./source-databases.ts";
import type { Source } from "./source.ts";
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
  const admit = (channel: string, account: string, written: Json | undefined): void => {
    const id = (textIn(written) ?? "").replace(/^(?:tg|telegram|discord|user):/i, "");
    const person = `${channel}:${account}:${id}`;
    const refuse = (why: string): void =>
      void met.push({ what: "person", name: person, fate: "refused", why });
    if (channel !== "telegram" && channel !== "discord") refuse(`Parley does not speak on ${channel}`);
    else if (!/^[1-9]\d{0,19}$/.test(id)) refuse("people are known by their numeric id");
    else if (
      !pairings.some((each) => each.channel === channel && each.account === account && each.senderId === id)
    )
      pairings.push({ channel, account, senderId: id });
  };
  for (const name of !source.isHome ? [] : source.files.names(folder)) {
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
    const data = source.files.value(path);
    const listed = Array.isArray(data) ? data : isBlock(data) ? (data["allowFrom"] ?? data["entries"]) : null;
    for (const entry of Array.isArray(listed) ? (listed as readonly Json[]) : []) {
      admit(channel, account, isBlock(entry) ? entry["id"] : entry);
    }
  }
  const shared = gatewayDatabase(source.folder);
  if (source.isHome && source.databases.hasTable(shared, "channel_pairing_allow_entries"))
    for (const { channel_key: channel, account_id: account, entry } of source.databases.rows(
      shared,
      "select channel_key, account_id, entry from channel_pairing_allow_entries order by channel_key, account_id, sort_order, entry",
    ))
      admit(String(channel).toLowerCase(), account === "" ? "default" : String(account), String(entry));
  // What cannot be read may have let in others, so that nobody is known to be the only one.
  const unread =
    source.files.told(folder).length > 0 || source.databases.told().some(({ name }) => name === shared);
  const owners = unread ? [] : ownersOf(source.config, pairings);
  return { pairings, owners, met };
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
