// The daemon's log: JSON lines on standard error, readable ones on a terminal. Secrets are cut from the finished line, so that no field,
// message or stack can carry one out (I8); a full disk or a closed pipe never stops the daemon.
import { writeSync } from "node:fs";
import { pino, stdSerializers, type DestinationStream } from "pino";
import type { Log } from "@parley/protocol";

export interface LoggerOptions {
  readonly level: string;
  readonly pretty: boolean;
  /** Values that must never appear. */
  readonly secrets: readonly string[];
  /** Hears every line as JSON, after it was cleaned. */
  readonly onLine?: (line: string) => void;
}

export interface Logger {
  readonly log: Log;
  /** Values that must not appear from now on: secrets that were read or minted later. */
  hide(secret: string): void;
}

const standardError = 2;
/** Shorter strings would blank out ordinary words. */
const shortestSecretChars = 6;

export async function logger(options: LoggerOptions): Promise<Logger> {
  const secrets = new Set(options.secrets.filter((secret) => secret.length >= shortestSecretChars).flatMap(spellings));
  const out = options.pretty ? await prettyLines() : writeLine;
  const destination: DestinationStream = {
    write(line) {
      let clean = line;
      for (const secret of secrets) clean = clean.replaceAll(secret, "[secret]");
      out(clean);
      options.onLine?.(clean);
    },
  };
  const log = pino(
    {
      level: options.level,
      base: null,
      errorKey: "error",
      serializers: { error: stdSerializers.err },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    destination,
  );
  return {
    log,
    hide(secret) {
      if (secret.length >= shortestSecretChars) for (const spelling of spellings(secret)) secrets.add(spelling);
    },
  };
}

/** As it is, and as it stands inside a JSON string. */
function spellings(secret: string): string[] {
  return [secret, JSON.stringify(secret).slice(1, -1)];
}

async function prettyLines(): Promise<(line: string) => void> {
  const { prettyFactory } = await import("pino-pretty");
  const format = prettyFactory({ colorize: true, translateTime: "SYS:HH:MM:ss", ignore: "pid,hostname" });
  return (line) => writeLine(format(line) ?? "");
}

function writeLine(line: string): void {
  try {
    writeSync(standardError, line);
  } catch {
    // A log that cannot be written must not stop what it is about: the pipe may be closed, the disk full.
  }
}
