// Maps errors of Redis and of its connection to Faults. Only this file reads their words. Source: the error
// replies in Redis' server.c and script.c (redis.io).
import { Fault } from "@parley/protocol";

/**
 * `unsent`: Redis never saw the call. `repeatable`: it may have, and the call may be repeated. `unknown`: it
 * may have.
 */
type Fate = "unsent" | "repeatable" | "unknown";

/**
 * From the first word of an error reply to the words after "Redis at <place>". None of these errors has
 * changed anything.
 */
const replies: { readonly [word: string]: string } = {
  OOM: "is full: raise maxmemory in redis.conf, or free some memory; Parley goes on by itself",
  MISCONF: "cannot write to its disk and refuses changes: free some space there; Parley goes on by itself",
  LOADING: "is still loading its data",
  BUSY: "is busy with another program's script",
  READONLY: "is a replica: Parley needs the primary",
  MASTERDOWN: "is a replica whose primary is away",
  NOREPLICAS: "has too few replicas and refuses changes",
  NOAUTH: "wants a password: set store.redis.url to redis://user:password@host:port",
  WRONGPASS: "does not take this user and password: check store.redis.url",
  NOPERM: "does not let this user do what Parley needs: see the line for a user of its own in docs/redis.md",
};

/** The Fault for a failed call. Errors of a script pass unchanged, because they are bugs. */
export function callFault(place: string, fate: Fate, error: unknown): unknown {
  if (isReply(error)) {
    const words = replyWords(error);
    return words === null ? error : new Fault("unavailable", `Redis at ${place} ${words}`, { cause: error });
  }
  // ioredis says this before it sends anything.
  const unsent =
    fate === "unsent" || (error instanceof Error && error.message.startsWith("Stream isn't writeable"));
  if (!unsent && fate === "unknown") {
    return new Fault(
      "ambiguous",
      `Redis at ${place} went away before it answered: it may or may not have stored this`,
      { cause: error },
    );
  }
  return new Fault(
    "unavailable",
    `Redis at ${place} cannot be reached${because(error)}; Parley goes on by itself when it is back`,
    {
      cause: error,
    },
  );
}

/** True for an error reply of Redis; other errors are the connection's. */
export function isReply(error: unknown): error is Error {
  return error instanceof Error && error.name === "ReplyError";
}

/** The Fault for a store that cannot be opened. */
export function openFault(place: string, error: unknown): unknown {
  const words = error instanceof Error ? replyWords(error) : null;
  if (words !== null) {
    const forGood = /^(NOAUTH|WRONGPASS|NOPERM)/.test((error as Error).message);
    return new Fault(forGood ? "invalid" : "unavailable", `Redis at ${place} ${words}`, { cause: error });
  }
  return new Fault(
    "unavailable",
    `Redis at ${place} cannot be reached${because(error)}: start it, or correct store.redis.url`,
    {
      cause: error,
    },
  );
}

function replyWords({ message }: Error): string | null {
  const word = message.split(" ", 1)[0] ?? "";
  return replies[word] ?? null;
}

function because(error: unknown): string {
  // For a call that was in flight, ioredis talks about its own options instead of the cause.
  if (error instanceof Error && error.name === "MaxRetriesPerRequestError") return " (the connection broke)";
  return error instanceof Error && error.message !== "" ? ` (${error.message})` : "";
}
