// Counts failed log-ins per remote address and locks an address out that guesses: ten failures in a minute, five minutes of silence.
// One counter stands in front of every credential. Bounded (I9): the oldest address is forgotten first.
import { Fault, type Clock } from "@parley/protocol";

export interface Attempts {
  /** Throws Fault("rate_limited") during a lock-out; the right credential is refused then too. */
  check(address: string): void;
  failed(address: string): void;
}

const mostFailures = 10;
const windowMs = 60_000;
const lockoutMs = 300_000;
const mostAddresses = 10_000;

interface Record {
  failuresAtMs: number[];
  lockedUntilMs: number;
}

export function loginAttempts(clock: Clock): Attempts {
  const records = new Map<string, Record>();

  return {
    check(address) {
      const leftMs = (records.get(bucket(address))?.lockedUntilMs ?? 0) - clock.mono();
      if (leftMs > 0) throw new Fault("rate_limited", "too many failed log-ins from this address", { retryAfterMs: Math.ceil(leftMs) });
    },
    failed(address) {
      const key = bucket(address);
      const nowMs = clock.mono();
      const record = records.get(key) ?? { failuresAtMs: [], lockedUntilMs: 0 };
      record.failuresAtMs = [...record.failuresAtMs.filter((atMs) => nowMs - atMs < windowMs), nowMs];
      if (record.failuresAtMs.length >= mostFailures) record.lockedUntilMs = nowMs + lockoutMs;
      // Written anew, so that the map's order is the order of last use.
      records.delete(key);
      records.set(key, record);
      if (records.size > mostAddresses) records.delete(records.keys().next().value ?? "");
    },
  };
}

/** An IPv6 host owns at least a /64: counting single addresses would give it endless tries. */
function bucket(address: string): string {
  const plain = address.replace(/^::ffff:/, "");
  if (!plain.includes(":")) return plain;
  const [head = "", tail = ""] = plain.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === "" ? [] : tail.split(":");
  const groups = plain.includes("::") ? [...left, ...Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0"), ...right] : left;
  return groups.slice(0, 4).join(":");
}
