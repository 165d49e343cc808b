// Retention in bounded slices (I9): ended records leave after some days, floods of refused rows sooner.
// Transcript entries are never deleted here.
import { idleLaneMs, keptAfterEndMs, refusedKept } from "../limits.ts";
import type { Scope } from "./scope.ts";
import { query } from "./statements.ts";

/** Deletes about `limit` records of each sort at most. Returns true when some sort had more. */
export function retention({ db, clock, memory }: Scope): (limit: number) => boolean {
  const slices = [
    query(db, "delete from rows where seq in (select seq from rows where ended < ? order by ended limit ?)"),
    query(db, "delete from turns where id in (select id from turns where ended < ? order by ended limit ?)"),
    query(
      db,
      "delete from parts where delivery in (select seq from deliveries where done < ? order by done limit ?)",
    ),
    query(
      db,
      "delete from deliveries where seq in (select seq from deliveries where done < ? order by done limit ?)",
    ),
  ];
  const cells = query(
    db,
    "delete from cells where key in (select key from cells where expires <= ? order by expires limit ?)",
  );
  const lanes = query(
    db,
    `delete from lanes where (kind, lane) in
       (select kind, lane from lanes where at is null and token < ? and holder is null and turn is null
        and not exists (select 1 from deliveries where deliveries.lane = lanes.lane and done is null) order by token limit ?)`,
  );
  const nextAccount = query<{ readonly account: string }>(
    db,
    "select account from rows where outcome = 'refused' and account > ? order by account limit 1",
  );
  const flood = query(
    db,
    `delete from rows where seq in (select seq from rows where outcome = 'refused' and account = ?1 and seq <=
       (select seq from rows where outcome = 'refused' and account = ?1 order by seq desc limit 1 offset ${refusedKept})
       order by seq limit ?2)`,
  );

  const floods = (limit: number): boolean => {
    let isFull = false;
    for (let next = nextAccount.get(""); next !== undefined; next = nextAccount.get(next.account)) {
      if (flood.run(next.account, limit) >= limit) isFull = true;
    }
    return isFull;
  };

  return (limit) => {
    const now = clock.now();
    memory.clear();
    const old = slices.map((slice) => slice.run(now - keptAfterEndMs, limit));
    const gone = [...old, cells.run(now, limit), lanes.run(now - idleLaneMs, limit)];
    return floods(limit) || gone.some((count) => count >= limit);
  };
}
