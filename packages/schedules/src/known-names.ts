// Reads the names that jobs have elsewhere and in the habits of models (sessionTarget, wakeMode, expr, tz,
// everyMs, delivery.mode, flat fields), and writes them as Parley's own form. It judges nothing: what is no
// name of anything stays and is refused later, with its path.

type Fields = { readonly [name: string]: unknown };

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** `isNew`: what a new job may leave out is filled in, such as its name. */
export function asWritten(asked: unknown, isNew: boolean): unknown {
  if (!isFields(asked)) return asked;
  const {
    sessionTarget,
    wakeMode,
    exact,
    keepAfterRun,
    at,
    every,
    everyMs,
    cron,
    expr,
    tz,
    watch,
    debounce,
    debounceMs,
    message,
    text,
    toolsAllow,
    timeoutMs,
    ...rest
  } = asked;
  const flat = { at, every, everyMs, cron, expr, tz, watch, debounce, debounceMs };
  const named = Object.values(flat).some((value) => value !== undefined) ? present(flat) : undefined;
  const schedule = scheduleOf(rest["schedule"] ?? named);
  const words = message !== undefined || text !== undefined ? present({ message, text }) : undefined;
  const { payload, timeoutSeconds } = payloadOf(rest["payload"] ?? words, toolsAllow);
  const stagger = isFields(rest["schedule"]) ? rest["schedule"]["staggerMs"] : undefined;
  const written = present({
    ...rest,
    schedule,
    payload,
    target: targetOf(rest["target"] ?? sessionTarget),
    wake: rest["wake"] ?? wakeMode,
    delivery: deliveryOf(rest["delivery"]),
    staggerMs: rest["staggerMs"] ?? (exact === true ? 0 : stagger),
    deleteAfterRun: rest["deleteAfterRun"] ?? (keepAfterRun === true ? false : undefined),
    timeoutSeconds:
      rest["timeoutSeconds"] ??
      timeoutSeconds ??
      (typeof timeoutMs === "number" ? Math.ceil(timeoutMs / 1_000) : undefined),
  });
  return isNew && written["name"] === undefined ? { ...written, name: firstWords(payload) } : written;
}

/**
 * An edit together with what it leaves as it is: payload, delivery and schedule are joined field by field
 * where their kind stays. Null takes a field of the payload away.
 */
export function asEdited(asked: unknown, { schedule, payload, delivery }: Kept): unknown {
  if (!isFields(asked)) return asked;
  const { message, text, toolsAllow, ...rest } = asked;
  const flat = present({ message, text, toolsAllow });
  const said = rest["payload"] ?? (Object.keys(flat).length > 0 ? flat : undefined);
  return present({
    ...rest,
    schedule: isFields(rest["schedule"]) ? joinedSchedule(rest["schedule"], schedule) : rest["schedule"],
    payload: isFields(said) ? joinedPayload(said, payload) : said,
    delivery: isFields(rest["delivery"]) ? joinedDelivery(rest["delivery"], delivery) : rest["delivery"],
  });
}

type Kept = { readonly [part in "schedule" | "payload" | "delivery"]: Fields };

/** One that names a time is a whole one, so that no zone of the old one is left in it. */
function joinedSchedule(asked: Fields, kept: Fields): Fields {
  const { zone = asked["tz"] ?? asked["timezone"], debounce = asked["debounceMs"], ...rest } = asked;
  const { tz: _tz, timezone: _timezone, debounceMs: _debounceMs, kind, ...others } = rest;
  if (Object.keys(others).length > 0 || (kind !== undefined && kind !== kept["kind"])) return asked;
  const { debounceMs, ...stays } = kept;
  return present({ ...stays, zone: zone ?? stays["zone"], debounce: debounce ?? debounceMs });
}

function joinedPayload(asked: Fields, kept: Fields): Fields {
  const { kind = kept["kind"], text, message = text, toolsAllow, tools = toolsAllow, ...rest } = asked;
  if (kind !== kept["kind"]) return asked;
  const words = kind === "systemEvent" ? { text: message } : { message };
  const whole = { ...kept, ...present({ kind, ...words, tools, ...rest }) };
  return Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== null));
}

function joinedDelivery(asked: Fields, kept: Fields): Fields {
  const { mode, kind = mode ?? kept["kind"], ...rest } = asked;
  if (kind !== kept["kind"]) return asked;
  const { url, ...stays } = kept;
  return present({ ...stays, ...rest, kind, url: rest["url"] ?? rest["to"] ?? url });
}

function present(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function scheduleOf(asked: unknown): unknown {
  if (!isFields(asked)) return asked;
  const { expr, cron, expression = expr ?? cron, tz, timezone, zone = tz ?? timezone } = asked;
  const { at = asked["atMs"] ?? asked["time"], every = asked["everyMs"], anchorMs } = asked;
  const { watch, path = watch, debounceMs, debounce = debounceMs } = asked;
  const kind =
    asked["kind"] ??
    (path !== undefined ? "watch" : undefined) ??
    (expression !== undefined ? "cron" : every !== undefined ? "every" : at !== undefined ? "at" : undefined);
  switch (kind) {
    case "at":
      return present({ kind, at, zone });
    case "every":
      return present({ kind, every, anchorMs, zone });
    case "cron":
      return present({ kind, expression, zone });
    case "watch":
      return present({ kind, path, debounce, zone });
    default:
      return asked;
  }
}

function payloadOf(
  asked: unknown,
  toolsAllow: unknown,
): { readonly payload: unknown; readonly timeoutSeconds?: unknown } {
  if (!isFields(asked)) return { payload: asked };
  const { kind: named, text, message, timeoutSeconds, deliver: _deliver, ...rest } = asked;
  const { toolsAllow: own, tools = own ?? toolsAllow, ...others } = rest;
  const kind = named ?? (message === undefined ? "systemEvent" : "agentTurn");
  const payload =
    kind === "systemEvent"
      ? present({ kind, text: text ?? message, ...others })
      : kind === "agentTurn"
        ? present({ kind, message: message ?? text, tools, ...others })
        : asked;
  return { payload, timeoutSeconds };
}

function targetOf(asked: unknown): unknown {
  if (typeof asked !== "string") return asked;
  if (asked.startsWith("session:")) return { kind: "session", session: asked.slice("session:".length) };
  return asked.startsWith("agent:") ? { kind: "session", session: asked } : { kind: asked };
}

function deliveryOf(asked: unknown): unknown {
  if (typeof asked === "string") return { kind: asked };
  if (!isFields(asked)) return asked;
  const { mode, kind = mode, channel, account, accountId = account, to, url, bestEffort } = asked;
  if (kind === "webhook") return present({ kind, url: url ?? to, bestEffort });
  if (kind === "none") return { kind };
  const isPlace = typeof to === "string" && channel !== undefined && channel !== "last";
  const place = isPlace ? present({ channel, account: accountId, peer: to }) : to;
  return present({ kind: kind ?? "announce", to: place, bestEffort });
}

const nameChars = 60;

function firstWords(payload: unknown): string | undefined {
  if (!isFields(payload)) return undefined;
  const said = payload["text"] ?? payload["message"];
  if (typeof said !== "string") return undefined;
  const [line = ""] = said.trim().split("\n");
  return line.length <= nameChars ? line : `${line.slice(0, nameChars).toWellFormed().trimEnd()}…`;
}
