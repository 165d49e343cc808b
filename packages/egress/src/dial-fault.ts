// Errors of sockets, TLS and DNS become Faults here: each names the host and the reason, and leaves out
// paths, queries and addresses, which may hold secrets or tell of a private network.
import { Fault, isFault } from "@parley/protocol";
import type { Hop } from "./redirect.ts";

/** A host's name is text of a stranger's choice: as long as DNS allows, no longer. */
export const responseHost = (host: string): string => (host.length > 253 ? `${host.slice(0, 253)}…` : host);

const beforeSending: Readonly<Record<string, string>> = {
  ENOTFOUND: "has no address",
  EAI_AGAIN: "could not be resolved",
  ECONNREFUSED: "refuses connections",
  EHOSTUNREACH: "cannot be reached",
  ENETUNREACH: "cannot be reached",
  ETIMEDOUT: "did not accept a connection in time",
  UND_ERR_CONNECT_TIMEOUT: "did not accept a connection in time",
};
const malformed: Readonly<Record<string, string>> = {
  UND_ERR_HEADERS_OVERFLOW: "answers with headers that are too long",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "ended its answer too early",
  Z_DATA_ERROR: "answers with broken compression",
  Z_BUF_ERROR: "answers with broken compression",
};
const certificate = /CERT|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|ERR_TLS/;
const safeToRepeat = new Set(["GET", "HEAD", "OPTIONS"]);

export function dialFault(error: unknown, hop: Hop, signal: AbortSignal): Fault {
  if (signal.aborted && isFault(signal.reason)) return signal.reason;
  if (isFault(error)) return error;
  const host = responseHost(hop.url.hostname);
  const code = codeOf(error);
  const early = beforeSending[code];
  if (early !== undefined)
    return new Fault(code === "ENOTFOUND" ? "missing" : "unavailable", `${host} ${early}`, { cause: error });
  if (certificate.test(code))
    return new Fault("denied", `${host} shows a certificate that does not hold (${code})`, { cause: error });
  if (code.startsWith("UND_ERR_INVALID_ARG"))
    return new Fault("invalid", `the call to ${host} cannot be written as HTTP`, { cause: error });
  const broken = malformed[code] ?? (isNoHttp(error) ? "does not answer in HTTP" : undefined);
  const says = broken ?? "broke the connection off";
  return safeToRepeat.has(hop.method)
    ? new Fault(broken === undefined ? "unavailable" : "unsupported", `${host} ${says}`, { cause: error })
    : new Fault("ambiguous", `${host} ${says} after it may have taken the call`, { cause: error });
}

/** The parser's errors have a code only sometimes. */
const isNoHttp = (error: unknown): boolean => error instanceof Error && error.name === "HTTPParserError";

/** Of the error or of what it wraps: a connection to several addresses fails with all their errors. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  if ("code" in error && typeof error.code === "string" && error.code !== "") return error.code;
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return codeOf(error.cause);
}
