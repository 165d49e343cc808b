// Who leads an account: holds its connection and sends what leaves it. One cell with an expiry; its version is the term, which the outbox
// checks with every write. A leader that cannot renew in time, because it was paused or Redis is away for it, stops by its own clock before
// another one can begin, and what it would still write is refused (I3).
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
  /** May be called again after `lost`; the one before has ended then. */
  readonly lead: (term: number) => Promise<void>;
  /** At once, before anybody else can lead. */
  readonly lost: () => Promise<void>;
}

export interface LeaderElection {
  /** The term, while it is certain that nobody else leads; null otherwise. */
  term(): number | null;
  /** Ends what leading began, does this, and begins again, in the same term; does only this where another one leads. */
  anew(between: () => Promise<void>): Promise<void>;
  /** Lets another one begin, and stands again when it had time to. */
  stepAside(): Promise<void>;
  /** Ends leading and lets another one begin at once; idempotent. */
  resign(): Promise<void>;
}

/** Without a renewal for this long another node may lead. With the look below and a channel's start, take-over stays under ten seconds. */
const termMs = 6_000;
const renewEveryMs = 1_500;
const lookEveryMs = 1_000;
/** Who stepped aside looks no sooner than this: others look every second. */
const asideMs = 5_000;
/** A leader stops this much before its time is over, so that two never overlap by the time it takes to stop. */
const marginMs = 500;

export const leaderCell = (account: string): string => `leader:${account}`;

/** Who leads by the cell's value. */
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
  let held: { readonly term: number; sureUntilMono: number; ended: boolean } | null = null;
  let ended = false;
  let timer: Timer | null = null;
  let watch: Timer | null = null;
  let isAside = false;
  /** Begins and ends follow each other. */
  let changing: Promise<void> = Promise.resolve();

  const again = (afterMs: number): void => {
    if (ended) return;
    timer?.cancel();
    timer = clock.after(afterMs, () => void step());
  };

  async function step(): Promise<void> {
    try {
      if (held === null) await look();
      else await renew(held);
    } catch (error) {
      if (!isFault(error)) log.error({ account, error }, "leadership failed");
    }
    again(held === null ? lookEveryMs : renewEveryMs);
  }

  async function look(): Promise<void> {
    const askedMono = clock.mono();
    if (isAside) return;
    const found = await cells.get(key);
    // The answer of an earlier put may have been lost: what it wrote is ours.
    const cell =
      found === null
        ? await cells.put(key, mine, { expect: 0, ttlMs: termMs })
        : found.value === mine
          ? found
          : null;
    if (cell === null || ended) return;
    if (found !== null && !(await cells.touch(key, cell.version, termMs))) return;
    if (ended) return void (await cells.touch(key, cell.version, 1));
    const holding = { term: cell.version, sureUntilMono: askedMono + termMs - marginMs, ended: false };
    held = holding;
    guard();
    log.info({ account, term: cell.version }, "leads the account");
    changing = changing.then(() => begin(holding));
  }

  async function begin(holding: NonNullable<typeof held>): Promise<void> {
    try {
      if (!holding.ended) await options.lead(holding.term);
    } catch (error) {
      log.error({ account, error }, "could not begin to lead");
      // The next look finds the term still ours, and begins again. Held but not begun, the account would have nobody.
      if (held === holding) drop("could not begin");
    }
  }

  async function renew(holding: NonNullable<typeof held>): Promise<void> {
    const askedMono = clock.mono();
    if (!(await cells.touch(key, holding.term, termMs))) return drop("another node leads");
    if (held !== holding) return;
    holding.sureUntilMono = askedMono + termMs - marginMs;
    guard();
  }

  function guard(): void {
    watch?.cancel();
    if (held === null) return;
    watch = clock.after(Math.max(0, held.sureUntilMono - clock.mono()), () => {
      if (held !== null && clock.mono() >= held.sureUntilMono) drop("could not renew in time");
    });
  }

  function drop(reason: string): void {
    if (held === null) return;
    held.ended = true;
    held = null;
    watch?.cancel();
    log[ended || isAside ? "info" : "warn"]({ account, reason }, "leads the account no longer");
    changing = changing
      .then(options.lost)
      .catch((error: unknown) => log.error({ account, error }, "could not end leading"));
    again(lookEveryMs);
  }

  void step();
  return {
    term: () => (held !== null && clock.mono() < held.sureUntilMono ? held.term : null),
    anew(between) {
      const holding = held;
      const made = changing.then(holding === null ? undefined : options.lost).then(between);
      changing = made
        .catch((error: unknown) => log.error({ account, error }, "could not be made anew"))
        .then(() => (holding === null ? undefined : begin(holding)));
      return changing;
    },
    async stepAside() {
      if (held === null || ended) return;
      const { term } = held;
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
      const term = held?.term;
      drop("resigned");
      await changing;
      // Expired, not removed: until the next leader writes it, only this term is good.
      if (term !== undefined) await cells.touch(key, term, 1).catch(() => false);
    },
  };
}

/** A boot that is proven dead leads nothing: the next one need not wait until its time is over. */
export async function freeLeaders(cells: Pick<Cells, "list" | "touch">, boot: string): Promise<void> {
  for (const cell of await cells.list(leaderCell(""), 1_000)) {
    if (readLeader(cell.value).boot === boot) await cells.touch(cell.key, cell.version, 1);
  }
}
