// Names what an import tells of everything that it met: each key, file, person, job and session, with what
// became of it and why. No value of the source stands in it, because values may be secrets.

/**
 * `carried` as it is; `changed` into Parley's own form; `there` already, from an earlier import or by hand;
 * `refused` because Parley has no such thing, or another way; `unknown`: nobody knows what it is.
 */
type Fate = "carried" | "changed" | "there" | "refused" | "unknown";

export interface Met {
  readonly what: "key" | "file" | "person" | "owner" | "job" | "session" | "variable" | "other";
  /** A path of the source's config, a file, an id, a session key. */
  readonly name: string;
  readonly fate: Fate;
  /** Where it is in Parley, when its name is another one there. */
  readonly to?: string;
  readonly why?: string;
}

export interface ImportReport {
  readonly from: string;
  readonly home: string;
  readonly configPath: string;
  /** False for a dry run: nothing was written. */
  readonly applied: boolean;
  /** Whether an import would write something, or did. */
  readonly changes: boolean;
  readonly met: readonly Met[];
  /** What a person must still do, in order. */
  readonly todo: readonly string[];
}
