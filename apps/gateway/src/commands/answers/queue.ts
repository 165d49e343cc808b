// Implements /queue: shows or sets how this session treats messages that arrive while a turn runs.
import {
  dropPolicies,
  ownQueueSettings,
  queueField,
  queueModes,
  queueSettingsOf,
  type QueueSettings,
} from "@parley/runner";
import { type PastLaneCommand, plainly } from "../chat-command.ts";

const usage =
  "Usage: /queue steer|followup|collect|interrupt [debounce:0.5s] [cap:20] [drop:summarize|old|new], or /queue default.";

type Parsed =
  | { readonly ok: true; readonly set: { [field: string]: string | number } }
  | { readonly ok: false; readonly reason: string };

/**
 * Parses `collect debounce:0.5s cap:25 drop:old` into fields. Every word is optional; an error names each
 * unknown one.
 */
function parseQueueArgs(args: string): Parsed {
  const set: { [field: string]: string | number } = {};
  for (const word of args.split(/\s+/).filter(Boolean)) {
    const [key, value] = word.toLowerCase().split(":", 2);
    if (value === undefined) {
      if (!(queueModes as readonly (string | undefined)[]).includes(key))
        return { ok: false, reason: `"${word}" is not a queue mode. ${usage}` };
      set["mode"] = key ?? "";
    } else if (key === "debounce") {
      const match = /^(\d+(?:\.\d+)?)(ms|s)?$/.exec(value);
      const debounceMs = match === null ? Number.NaN : Number(match[1]) * (match[2] === "ms" ? 1 : 1000);
      if (!(debounceMs >= 0 && debounceMs <= 60_000))
        return { ok: false, reason: `debounce is 0 to 60 s, not "${value}". ${usage}` };
      set["debounceMs"] = debounceMs;
    } else if (key === "cap") {
      const cap = Number(value);
      if (!Number.isInteger(cap) || cap < 1 || cap > 1000)
        return { ok: false, reason: `cap is 1 to 1000, not "${value}". ${usage}` };
      set["cap"] = cap;
    } else if (key === "drop" && (dropPolicies as readonly string[]).includes(value)) {
      set["drop"] = value;
    } else {
      return { ok: false, reason: `I do not understand "${word}". ${usage}` };
    }
  }
  return { ok: true, set };
}

export const queue: PastLaneCommand = {
  name: "queue",
  summary: "how messages wait while I work: steer, followup, collect or interrupt",
  place: "past-lane",
  suggests: async () => plainly([...queueModes, "default"]),
  async run({ args, route }, { config, store: { sessions } }) {
    const configured = config.messages.queue;
    const session = await sessions.open(route.session);
    if (args === "") return `${told(queueSettingsOf(session, configured))}\n${usage}`;
    if (args === "default" || args === "reset")
      return told(queueSettingsOf(await sessions.patch(route.session, { [queueField]: null }), configured));
    const parsed = parseQueueArgs(args);
    if (!parsed.ok) return parsed.reason;
    const merged = { ...ownQueueSettings(session), ...parsed.set };
    return told(queueSettingsOf(await sessions.patch(route.session, { [queueField]: merged }), configured));
  },
};

function told({ mode, debounceMs, cap, drop }: QueueSettings): string {
  return `Queue: ${mode} (debounce ${debounceMs / 1000} s, cap ${cap}, drop ${drop}).`;
}
