// The tables of state.db as a list of migrations; a released migration never changes. `lanes.at` is the one
// number that scheduling needs: due time of a free lane, expiry of a leased one, deadline of a parked one,
// null when there is nothing to do. Times are milliseconds since the epoch.

/** "Parl" in ASCII tells our files from other SQLite databases (pragma application_id). */
export const applicationId = 0x5061726c;

/** Migration n brings a file from user_version n to n + 1. */
export const migrations: readonly (readonly string[])[] = [
  [
    // kind: 'i' = inbox (turns), 'o' = outbox. Among lanes with equal `at`, the one leased longest ago goes
    // first: its token is the smallest.
    `create table lanes (
       kind text not null, lane text not null, pool text not null, at integer, token integer not null default 0,
       holder text, turn text, primary key (kind, lane)) without rowid`,
    `create index lanes_due on lanes (kind, pool, at, token) where at is not null`,
    `create index lanes_idle on lanes (token) where at is null`,

    // state: waiting | claimed | context | ended. shown: version of the payload; version: that of the guard.
    `create table rows (
       seq integer primary key autoincrement, id text not null unique, lane text not null, pool text not null,
       conversation text not null, account text not null, authority text not null, subject text, version integer not null default 0,
       shown integer not null default 0, state text not null, outcome text, reason text, due integer not null default 0,
       ticket text, barrier integer not null default 0, turn text, claim integer, accepted integer not null, ended integer,
       dismissed integer not null default 0, payload text not null)`,
    `create unique index rows_guard on rows (subject, version) where subject is not null`,
    `create index rows_lane on rows (lane, state, seq)`,
    `create index rows_turn on rows (turn, claim) where turn is not null`,
    `create index rows_ended on rows (ended) where ended is not null`,
    `create index rows_refused on rows (account, seq) where outcome = 'refused'`,
    `create index rows_dead on rows (seq) where outcome = 'dead'`,

    // state: running | parked | done. alone: its only row is a barrier. token, seq: identify a repeated
    // commit and answer it.
    `create table turns (
       id text primary key, lane text not null, pool text not null, conversation text not null, authority text not null,
       epoch integer not null, attempt integer not null, state text not null, alone integer not null, tickets text not null default '[]',
       wake text, stop text, opened integer not null, ended integer, token integer, seq integer) without rowid`,
    `create index turns_ended on turns (ended) where ended is not null`,
    `create table steps (turn text not null, n integer not null, kind text not null, body text not null)`,
    `create unique index steps_turn on steps (turn, n)`,

    `create table sessions (
       key text primary key, epoch integer not null, last integer not null, fields text not null,
       created integer not null, updated integer not null) without rowid`,
    `create table entries (lane text not null, epoch integer not null, seq integer not null, turn text not null, body text not null)`,
    `create unique index entries_order on entries (lane, epoch, seq)`,

    // place orders a lane: the own seq, the place of the closed preview, or, for a passing answer, half a
    // step behind another delivery. preview: posted as a preview; closed: replaced since.
    `create table deliveries (
       seq integer primary key autoincrement, id text not null unique, lane text not null, pool text not null, cause text not null,
       place integer not null, preview integer not null default 0, closed integer not null default 0, split integer not null default 0,
       created integer not null, done integer, troubled integer not null default 0, dropped integer not null default 0)`,
    `create index deliveries_open on deliveries (lane, place, seq) where done is null`,
    `create index deliveries_done on deliveries (done) where done is not null`,
    `create index deliveries_troubled on deliveries (seq) where troubled = 1`,
    `create index deliveries_cause on deliveries (cause)`,
    `create table parts (
       delivery integer not null, n integer not null, content text not null, into_part text, state text not null default 'queued',
       token integer not null default 0, started integer not null default 0, attempts integer not null default 0,
       resends integer not null default 0, flagged integer not null default 0, receipt text, reason text)`,
    `create unique index parts_order on parts (delivery, n)`,

    `create table cells (key text primary key, value text not null, version integer not null, expires integer) without rowid`,
    `create index cells_expires on cells (expires) where expires is not null`,
    `create table events (
       seq integer primary key autoincrement, id text not null unique, stream text not null, at integer not null, body text not null)`,
    `create index events_stream on events (stream, seq)`,

    // One counter for the versions of all cells, so that versions grow over deletion.
    `create table counters (name text primary key, n integer not null) without rowid`,
    `insert into counters values ('cell', 0), ('probe', 0)`,
    `create table boots (boot text primary key, started integer not null, stopped integer)`,
    `create index boots_started on boots (started)`,
  ],
  [
    // struck: the token of the lease whose expiry was counted as a death of the turn. strikes: deaths in the
    // turn that gave the row back.
    `alter table turns add column struck integer`,
    `alter table rows add column strikes integer not null default 0`,
    // One row, the same in every copy of this store.
    `create table identity (id text not null)`,
    `insert into identity values (lower(hex(randomblob(16))))`,
  ],
];
