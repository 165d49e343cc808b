// Writes the daemon's log: JSON lines on standard error, readable ones on a terminal, JSON lines for other
// listeners. Secrets are cut from the finished line, so no field, message or stack can leak one (I8). A full
// disk or a closed pipe never stops the daemon.
import { writeSync } from "node:fs";
import { hideSecrets } from "@parley/agent";
import { pino, stdSerializers, type DestinationStream } from "pino";
import { printableJson, type Log, type LogFields } from "@parley/protocol";

const levels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof levels)[number];

export interface LoggerOptions {
  readonly level: LogLevel;
  readonly pretty: boolean;
  /** Values that must never appear. */
  readonly secrets: readonly string[];
  /** Called with every redacted line as JSON. */
  readonly onLine?: (line: string) => void;
}

export interface Logger {
  readonly log: Log;
  /** Adds a value that must not appear from now on: a secret that was read or minted later. */
  hide(secret: string): void;
  /** The same for secrets that are given anew for ever, as tokens of logins: the newest are kept. */
  learn(secrets: readonly string[]): void;
  /** What was learnt; the same list until there is another. */
  learnt(): readonly string[];
  /** Also applies to existing child loggers. */
  setLevel(level: LogLevel): void;
}

const standardError = 2;
/** Each server's login has two or three, and what it had before soon ends. */
const mostLearnt = 200;

export async function logger(options: LoggerOptions): Promise<Logger> {
  let { secrets } = options;
  let learnt: readonly string[] = [];
  let least = levels.indexOf(options.level);
  const out = options.pretty ? await prettyLines(() => least === levels.indexOf("debug")) : writeLine;
  const destination: DestinationStream = {
    write(line) {
      // People read these lines with tail and less, so control characters are escaped.
      const clean = printableJson(withoutPasswords(hideSecrets(hideSecrets(line, secrets), learnt)));
      out(clean);
      options.onLine?.(clean);
    },
  };
  const lines = pino(
    {
      level: "debug",
      base: null,
      errorKey: "error",
      serializers: { error: stdSerializers.err },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    destination,
  );
  // pino's children keep the level of their creation; ours ask for the current one.
  const over = (below: Log): Log => {
    const at =
      (level: LogLevel) =>
      (fields: LogFields, message: string): void => {
        if (levels.indexOf(level) >= least) below[level](fields, message);
      };
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      child: (fields) => over(below.child(fields)),
    };
  };
  return {
    log: over(lines),
    setLevel(level) {
      least = levels.indexOf(level);
    },
    learn(given) {
      const fresh = given.filter((secret) => !learnt.includes(secret));
      if (fresh.length > 0) learnt = [...learnt, ...fresh].slice(-mostLearnt);
    },
    learnt: () => learnt,
    hide(secret) {
      if (!secrets.includes(secret)) secrets = [...secrets, secret];
    },
  };
}

/**
 * Cuts credentials that nobody registered: passwords and tokens in URLs, tokens in headers, a bot's token in
 * its API path.
 */
function withoutPasswords(line: string): string {
  // Most lines have nothing of the kind, and each expression walks the whole line.
  if (!line.includes("=") && !line.includes("://") && !/\b(?:bearer|bot)/i.test(line)) return line;
  return line
    .replaceAll(/(\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@"\\]*:)[^\s/@"\\]+@/gi, "$1[secret]@")
    .replaceAll(
      /([?&#](?:access_|bot_|api_?)?(?:token|key|secret|password|code|sig(?:nature)?)=)[^\s&"'\\#]+/gi,
      "$1[secret]",
    )
    .replaceAll(/\b(bearer|bot) +[\w.~+/=-]{12,}/gi, "$1 [secret]")
    .replaceAll(/\bbot\d{5,}:[\w-]{20,}/g, "bot[secret]");
}

/**
 * Steps of a message on its way. A person who watches sees one line per message, its end; errors are always
 * shown.
 */
const stages: ReadonlySet<string> = new Set(["received", "turn begins", "sent", "had arrived"]);

/** pino's number. */
const infoLevel = 30;

/** `all`: returns whether the steps are shown too. */
async function prettyLines(all: () => boolean): Promise<(line: string) => void> {
  const { prettyFactory } = await import("pino-pretty");
  const format = prettyFactory({
    colorize: true,
    translateTime: "SYS:HH:MM:ss",
    ignore: "pid,hostname",
    singleLine: true,
  });
  return (line) => {
    const { msg, level } = JSON.parse(line) as { readonly msg?: string; readonly level: number };
    if (all() || level > infoLevel || msg === undefined || !stages.has(msg)) writeLine(format(line) ?? "");
  };
}

function writeLine(line: string): void {
  try {
    writeSync(standardError, line);
  } catch {
    // A log that cannot be written must not stop the daemon: the pipe may be closed, the disk full.
  }
}
