// Elects the leader of an account, which holds its connection and sends its messages. The claim is one cell
// with an expiry; its version is the term, which the outbox checks on every write. A leader that cannot renew
// in time stops by its own clock before another can begin, and its late writes are refused (I3).
import { isFault, type Clock, type Log, type Timer } from "@parley/protocol";
import type { Cells } from "@parley/store";

export interface LeaderElectionOptions {
  /** `<channel>:<account>`. */
  readonly account: string;
  readonly bootId: string;
  readonly node: string;
  readonly cells: Pick<Cells, "get" | "put" | "touch">;
  readonly clock: Clock;
  readonly log: Log;
  /** Called again after `lost`, when the leadership before has ended. */
  readonly lead: (term: number) => Promise<void>;
  /** Called at once, before anybody else can lead. */
  readonly lost: () => Promise<void>;
}

export interface LeaderElection {
  /** Returns the term while certainly nobody else leads; null otherwise. */
  term(): number | null;
  /**
   * Stops leading, runs `between` and begins again in the same term; where another node leads it only runs
   * `between`.
   */
  anew(between: () => Promise<void>): Promise<void>;
  /** Lets another node begin, and stands again once it had time to. */
  stepAside(): Promise<void>;
  /** Stops leading and lets another node begin at once; idempotent. */
  resign(): Promise<void>;
}

/**
 * Without a renewal for this long another node may lead. Together with the look below and a channel's start,
 * take-over stays under ten seconds.
 */
const termMs = 6_000;
const renewEveryMs = 1_500;
const lookEveryMs = 1_000;
/** A node that stepped aside looks no sooner than this; the others look every second. */
const asideMs = 5_000;
/**
 * A leader stops this long before its claim expires, because stopping takes time and two must never lead at
 * once.
 */
const marginMs = 500;

export const leaderCell = (account: string): string => `leader:${account}`;

/** A leader as its cell names it. */
interface Leader {
  readonly node: string;
  readonly boot: string;
}

function readLeader(value: string): Leader {
  const { node, boot } = JSON.parse(value) as Leader;
  return { node, boot };
}

export function leaderElection(options: LeaderElectionOptions): LeaderElection {
  const { account, cells, clock, log } = options;
  const key = leaderCell(account);
  const mine = JSON.stringify({ node: options.node, boot: options.bootId });
  let leadership: { readonly term: number; sureUntilMono: number; ended: boolean } | null = null;
  let ended = false;
  let timer: Timer | null = null;
  let watch: Timer | null = null;
  let isAside = false;
  /** Serialises beginnings and ends. */
  let changing: Promise<void> = Promise.resolve();

  const again = (afterMs: number): void => {
    if (ended) return;
    timer?.cancel();
    timer = clock.after(afterMs, () => void step());
  };

  async function step(): Promise<void> {
    try {
      if (leadership === null) await look();
      else await renew(leadership);
    } catch (error) {
      if (!isFault(error)) log.error({ account, error }, "leadership failed");
    }
    again(leadership === null ? lookEveryMs : renewEveryMs);
  }

  async function look(): Promise<void> {
    const askedMono = clock.mono();
    if (isAside) return;
    const found = await cells.get(key);
    // If the answer of an earlier put was lost, the cell holds what we wrote: it is ours.
    const cell =
      found === null
        ? await cells.put(key, mine, { expect: 0, ttlMs: termMs })
        : found.value === mine
          ? found
          : null;
    if (cell === null) return;
    if (found !== null && !(await cells.touch(key, cell.version, termMs))) return;
    if (ended) return void (await cells.touch(key, cell.version, 1));
    const current = { term: cell.version, sureUntilMono: askedMono + termMs - marginMs, ended: false };
    leadership = current;
    guard();
    log.info({ account, term: cell.version }, "leads the account");
    changing = changing.then(() => begin(current));
  }

  async function begin(current: NonNullable<typeof leadership>): Promise<void> {
    try {
      if (!current.ended) await options.lead(current.term);
    } catch (error) {
      log.error({ account, error }, "could not begin to lead");
      // Drops the claim, so that the next look begins again. A claim without a running leader would leave the
      // account to nobody.
      if (leadership === current) drop("could not begin");
    }
  }

  async function renew(current: NonNullable<typeof leadership>): Promise<void> {
    const askedMono = clock.mono();
    if (!(await cells.touch(key, current.term, termMs))) return drop("another node leads");
    if (leadership !== current) return;
    current.sureUntilMono = askedMono + termMs - marginMs;
    guard();
  }

  function guard(): void {
    watch?.cancel();
    if (leadership === null) return;
    watch = clock.after(Math.max(0, leadership.sureUntilMono - clock.mono()), () => {
      if (leadership !== null && clock.mono() >= leadership.sureUntilMono) drop("could not renew in time");
    });
  }

  function drop(reason: string): void {
    if (leadership === null) return;
    leadership.ended = true;
    leadership = null;
    watch?.cancel();
    log[ended || isAside ? "info" : "warn"]({ account, reason }, "leads the account no longer");
    changing = changing
      .then(options.lost)
      .catch((error: unknown) => log.error({ account, error }, "could not end leading"));
    again(lookEveryMs);
  }

  void step();
  return {
    term: () => (leadership !== null && clock.mono() < leadership.sureUntilMono ? leadership.term : null),
    anew(between) {
      const current = leadership;
      const made = changing.then(current === null ? undefined : options.lost).then(between);
      changing = made
        .catch((error: unknown) => log.error({ account, error }, "could not be made anew"))
        .then(() => (current === null ? undefined : begin(current)));
      return changing;
    },
    async stepAside() {
      if (leadership === null || ended) return;
      const { term } = leadership;
      isAside = true;
      drop("steps aside");
      await changing;
      await cells.touch(key, term, 1).catch(() => false);
      clock.after(asideMs, () => (isAside = false));
    },
    async resign() {
      if (ended) return changing;
      ended = true;
      timer?.cancel();
      const term = leadership?.term;
      drop("resigned");
      await changing;
      // Expires the cell without removing it: until the next leader writes it, only this term is valid.
      if (term !== undefined) await cells.touch(key, term, 1).catch(() => false);
    },
  };
}

/** A boot that is proven dead leads nothing, so the next leader need not wait for the expiry. */
export async function freeLeaders(cells: Pick<Cells, "list" | "touch">, boot: string): Promise<void> {
  for (const cell of await cells.list(leaderCell(""), 1_000)) {
    if (readLeader(cell.value).boot === boot) await cells.touch(cell.key, cell.version, 1);
  }
}
