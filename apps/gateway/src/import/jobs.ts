// Reads the schedules of an OpenClaw home as jobs of Parley. They keep their ids, and each keeps the place
// that it spoke to; a job whose place cannot be told is not carried, because it would speak to somebody else.
import { join } from "node:path";
import { asWritten, newJob, type Job } from "@parley/schedules";
import type { Address, Json, JsonObject } from "@parley/protocol";
import type { Met } from "./report.ts";
import { jsonOf, gatewayDatabase } from "./source-databases.ts";
import type { Source } from "./source.ts";
import { isBlock, textIn } from "./tree.ts";

export interface JobsContext {
  readonly nowMs: number;
  readonly zone: string;
  readonly agents: readonly string[];
  /** Where the first owner is and what session that is; null where no owner is known. */
  readonly home: (agent: string) => { readonly place: Address; readonly session: string } | null;
}

export interface Jobs {
  readonly jobs: readonly Job[];
  readonly met: readonly Met[];
}

const carriedFields = ["name", "enabled", "schedule", "sessionTarget", "wakeMode", "deleteAfterRun"];
const carriedPayload = [
  "kind",
  "text",
  "message",
  "model",
  "fallbacks",
  "thinking",
  "timeoutSeconds",
  "toolsAllow",
  "lightContext",
];

export function readJobs(source: Source, context: JobsContext): Jobs {
  const jobs: Job[] = [];
  const met: Met[] = [];
  if (!source.isHome) return { jobs, met };
  const data = source.files.value(join(source.folder, "cron", "jobs.json"));
  const inFile = isBlock(data) ? data["jobs"] : data;
  const listed = [...(Array.isArray(inFile) ? (inFile as readonly Json[]) : []), ...stored(source, met)];
  for (const [index, each] of listed.entries()) {
    const written = isBlock(each) ? each : {};
    const name = textIn(written["id"] ?? written["jobId"] ?? written["name"]) ?? `jobs[${index}]`;
    const read = jobOf(written, name, context);
    if (typeof read === "string") met.push({ what: "job", name, fate: "refused", why: read });
    else {
      if (jobs.some(({ id }) => id === read.id)) {
        met.push({ what: "job", name, fate: "refused", why: `another job has the id ${read.id} here` });
        continue;
      }
      jobs.push(read);
      met.push({ what: "job", name, fate: "carried", ...(read.id === name ? {} : { to: read.id }) });
    }
  }
  return { jobs, met };
}

/** One database may hold the schedules of several homes, each under the file that they stood in before. */
function stored({ folder, databases }: Source, met: Met[]): readonly Json[] {
  const path = gatewayDatabase(folder);
  if (!databases.hasTable(path, "cron_jobs")) return [];
  const all = databases.rows(path, "select store_key, job_id, job_json from cron_jobs order by job_id");
  const homes = new Set(all.map(({ store_key: key }) => String(key)));
  const [first] = homes;
  const own = join(folder, "cron", "jobs.json");
  const wanted = homes.has(own) ? own : homes.size === 1 ? first : undefined;
  for (const home of homes)
    if (home !== wanted)
      met.push({
        what: "other",
        name: `${path}: ${home}`,
        fate: "refused",
        why: "its schedules are of another home, as far as can be told",
      });
  return all.flatMap(({ store_key: key, job_id: id, job_json: text }) => {
    const job = jsonOf(text);
    return key === wanted ? [{ id: String(id), ...(isBlock(job) ? job : {}) }] : [];
  });
}

/** A text: why it cannot be carried. */
function jobOf(written: JsonObject, name: string, { nowMs, zone, agents, home }: JobsContext): Job | string {
  const agent = (textIn(written["agentId"]) ?? agents[0] ?? "main").toLowerCase();
  if (!agents.includes(agent)) return `there is no agent ${agent}`;
  const payload = isBlock(written["payload"]) ? written["payload"] : {};
  if (payload["kind"] !== "systemEvent" && payload["kind"] !== "agentTurn")
    return "what it does is none of systemEvent and agentTurn";
  const delivery = deliveryOf(written, payload);
  if (typeof delivery === "string") return delivery;
  const at = home(agent);
  const asked = asWritten(
    {
      ...only(written, carriedFields),
      payload: only(payload, carriedPayload),
      ...(delivery === null ? {} : { delivery }),
    },
    true,
  );
  const decided = newJob(asked, {
    nowMs,
    zone,
    id: idOf(name),
    agent,
    owner: {
      kind: "operator",
      sender: null,
      isOwner: true,
      conversation: at?.place ?? null,
      session: at?.session ?? null,
      turn: null,
      authority: "owner",
      tools: null,
    },
  });
  if (!decided.ok) return decided.problems.map(({ path, why, fix }) => `${path} ${why}: ${fix}`).join("; ");
  const { job } = decided;
  const { payload: does, target } = job;
  if (does.kind === "agentTurn" && target.kind !== "isolated" && (does.model ?? does.thinking) !== undefined)
    return "a model of its own needs a run of its own (isolated)";
  return job;
}

/** Null: the usual place. */
function deliveryOf(
  written: JsonObject,
  payload: JsonObject,
): { readonly [field: string]: unknown } | string | null {
  const block = isBlock(written["delivery"]) ? written["delivery"] : null;
  const old = {
    mode: payload["deliver"] === true ? "announce" : payload["deliver"] === false ? "none" : undefined,
  };
  const {
    mode = old.mode,
    channel = payload["channel"],
    to = payload["to"],
    accountId,
    bestEffort,
  } = block ?? {};
  const effort = bestEffort === true ? { bestEffort } : {};
  if (mode === "none") return { kind: "none" };
  if (mode === "webhook")
    return typeof to === "string" ? { kind: "webhook", url: to, ...effort } : "its webhook has no address";
  if (mode !== "announce" && mode !== undefined) return `its delivery ${JSON.stringify(mode)} is not known`;
  if (typeof to !== "string" && typeof to !== "number")
    return mode === undefined ? null : { kind: "announce", ...effort };
  const address = placeOf(channel, String(to), typeof accountId === "string" ? accountId : "default");
  return address === null
    ? `its place ${JSON.stringify(to)} is none that Parley can tell: a Telegram chat id, or user:ID and channel:ID of Discord`
    : { kind: "announce", to: address, ...effort };
}

/** A place as OpenClaw names it: `123`, `telegram:-100…:topic:7`, `user:123`. Null: not to be told. */
export function placeOf(named: Json | undefined, to: string, account: string): Address | null {
  const [, prefix, rest = to] = /^(telegram|tg|discord):(.+)$/i.exec(to) ?? [];
  const word = (prefix ?? (typeof named === "string" ? named : "")).toLowerCase();
  const channel = word === "tg" ? "telegram" : word;
  const [, chat, topic] = /^(?:group:)?(-?\d+)(?::(?:topic:)?(\d+))?$/.exec(rest) ?? [];
  if (channel === "telegram" && chat !== undefined)
    return {
      channel,
      account,
      kind: chat.startsWith("-") ? "group" : "dm",
      peer: chat,
      ...(topic === undefined ? {} : { thread: topic }),
    };
  const [, kind, id] = /^(user|channel):(\d+)$/i.exec(rest) ?? [];
  if (channel === "discord" && id !== undefined)
    return { channel, account, kind: kind === "user" ? "dm" : "channel", peer: id };
  return null;
}

function only(from: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));
}

/** Ids of jobs stand in row ids, so they have letters, digits and dashes only. */
function idOf(name: string): string {
  const id = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 64);
  return id === "" ? "imported" : id;
}
