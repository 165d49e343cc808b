// Scripts for sessions, cells and events, and for the store as a whole.
import { countedUpTo, idleLaneMs, keptAfterEndMs, refusedKept } from "../../limits.ts";
import { cellsLua } from "../lua/cells.ts";
import { deliveriesLua } from "../lua/deliveries.ts";
import { lanesLua } from "../lua/lanes.ts";
import { rowsLua } from "../lua/rows.ts";
import { sessionsLua } from "../lua/sessions.ts";
import { script } from "../script.ts";

export const openSessionScript = script([sessionsLua], "return sessions.shown(arg.key)");

export const patchSessionScript = script(
  [sessionsLua],
  String.raw`
sessions.patch(arg.key, arg.patch)
return sessions.shown(arg.key)`,
);

/** Not repeatable: each call begins a new epoch. */
export const resetSessionScript = script(
  [sessionsLua],
  String.raw`
sessions.open(arg.key)
call('HINCRBY', key.session(arg.key), 'epoch', 1)
sessions.touch(arg.key)
return sessions.shown(arg.key)`,
  { repeatable: false },
);

/**
 * Not repeatable: each call begins a new epoch. `record` names the session field that records it. Answers the
 * session and the number of deleted entries.
 */
export const forgetSessionScript = script(
  [sessionsLua],
  String.raw`
local epoch, entries = sessions.open(arg.key)[1], 0
for each = 1, epoch do
  entries = entries + call('ZCARD', key.entries(arg.key, each))
  call('DEL', key.entries(arg.key, each))
end
call('HINCRBY', key.session(arg.key), 'epoch', 1)
sessions.patch(arg.key, { { arg.record, cjson.encode({ atMs = now, entries = entries }) } })
return { sessions.shown(arg.key), entries }`,
  { repeatable: false },
);

/** Answers the number of deleted entries. What was trimmed before is not looked at again. */
export const trimSessionScript = script(
  [sessionsLua],
  String.raw`
local epoch, entries = sessions.open(arg.key)[1], 0
local from = tonumber(call('HGET', key.session(arg.key), 'trimmed') or 1)
local before = math.min(arg.beforeEpoch, epoch)
for each = from, before - 1 do
  entries = entries + call('ZCARD', key.entries(arg.key, each))
  call('DEL', key.entries(arg.key, each))
end
if before > from then call('HSET', key.session(arg.key), 'trimmed', before) end
return entries`,
);

/**
 * One slice of the list from place `from`, newest first. Answers the matches and the number of sessions read.
 */
export const listSessionsScript = script(
  [sessionsLua],
  String.raw`
local found = {}
local names = call('ZREVRANGEBYSCORE', key.sessions, '+inf', arg.sinceMs, 'LIMIT', arg.from, arg.scan)
for _, name in ipairs(names) do
  if string.sub(name, 1, #arg.prefix) == arg.prefix then found[#found + 1] = sessions.shown(name) end
end
return { found, #names }`,
);

export const transcriptScript = script(
  [sessionsLua],
  String.raw`
local entries = key.entries(arg.key, arg.epoch or sessions.open(arg.key)[1])
local after = '(' .. arg.afterSeq
if arg.newest then return call('ZREVRANGEBYSCORE', entries, '+inf', after, 'LIMIT', 0, arg.limit) end
return call('ZRANGEBYSCORE', entries, after, '+inf', 'LIMIT', 0, arg.limit)`,
);

export const getCellScript = script([cellsLua], "return cells.get(arg.key)");

/** Not repeatable: a repeat by the winner would lose to its own first call, or write twice. */
export const putCellScript = script(
  [cellsLua],
  String.raw`
if arg.expect and cells.version(arg.key) ~= arg.expect then return false end
return cells.put(arg.key, arg.value, arg.ttlMs)`,
  { repeatable: false },
);

export const touchCellScript = script(
  [cellsLua],
  String.raw`
if cells.version(arg.key) ~= arg.version then return 0 end
cells.expire(arg.key, arg.ttlMs)
return 1`,
);

export const removeCellScript = script(
  [cellsLua],
  String.raw`
local version = cells.version(arg.key)
if version == 0 or (arg.version and version ~= arg.version) then return 0 end
cells.remove(arg.key)
return 1`,
);

/** Keys are ordered by their bytes. */
export const listCellsScript = script(
  [cellsLua],
  String.raw`
local found, from = {}, '[' .. arg.prefix
while #found < arg.limit do
  local names = call('ZRANGEBYLEX', key.cells, from, '[' .. arg.prefix .. '\255', 'LIMIT', 0, 200)
  if #names == 0 then break end
  for _, name in ipairs(names) do
    local cell = cells.get(name)
    if cell and #found < arg.limit then found[#found + 1] = { cell[1], cell[2], cell[3], cell[4] or false } end
  end
  from = '(' .. names[#names]
end
return found`,
);

/** The event log is a ring over all streams, so that a slow or absent client cannot grow it (I9). */
export const appendEventScript = script(
  [],
  String.raw`
local before = call('GET', key.event(arg.id))
if before then return tonumber(before) end
local seq = count('event')
call('SET', key.event(arg.id), seq)
call('ZADD', key.events, seq, cjson.encode({ stream = arg.stream, id = arg.id }))
call('ZADD', key.stream(arg.stream), seq, cjson.encode({ seq = seq, at = now, body = arg.body }))
for _, each in ipairs(call('ZRANGEBYSCORE', key.events, '-inf', seq - arg.keep)) do
  local old = cjson.decode(each)
  call('ZREMRANGEBYSCORE', key.stream(old.stream), '-inf', seq - arg.keep)
  call('DEL', key.event(old.id))
  call('ZREM', key.events, each)
end
return seq`,
);

/** Answers the events and the first and last seq of the log. */
export const eventsAfterScript = script(
  [],
  String.raw`
local first = call('ZRANGE', key.events, 0, 0, 'WITHSCORES')[2]
local last = call('ZREVRANGE', key.events, 0, 0, 'WITHSCORES')[2]
local events = call('ZRANGEBYSCORE', key.stream(arg.stream), '(' .. arg.seq, '+inf', 'LIMIT', 0, arg.limit)
return { events, first and tonumber(first) or 0, last and tonumber(last) or 0 }`,
);

export const newestEventsScript = script(
  [],
  "return call('ZREVRANGEBYSCORE', key.stream(arg.stream), arg.before, '-inf', 'LIMIT', 0, arg.limit)",
);

/** Answers the store's identity, and creates it with `fresh` when there is none. */
export const identifyScript = script(
  [],
  String.raw`
if arg.fresh then call('SETNX', key.identity, arg.fresh) end
return call('GET', key.identity)`,
);

export const probeScript = script([], "return count('probe')");

/** Counts dead rows that nobody dismissed, and troubled deliveries. */
export const troubledScript = script(
  [],
  `return { least(${countedUpTo}, call('ZCARD', key.dead)), least(${countedUpTo}, call('ZCARD', key.troubled)) }`,
);

/**
 * One slice of retention (I9): deletes about `limit` records of each sort. True when some sort had more.
 * Transcript entries are never deleted here.
 */
export const sweepScript = script(
  [lanesLua, rowsLua, deliveriesLua, cellsLua],
  String.raw`
local full = false
local function slice(zset, before, remove)
  local found = call('ZRANGEBYSCORE', zset, '-inf', before, 'LIMIT', 0, arg.limit)
  for _, each in ipairs(found) do remove(each) end
  if #found >= arg.limit then full = true end
end

local before = '(' .. (now - ${keptAfterEndMs})
slice(key.ended, before, rows.remove)
slice(key.turnsEnded, before, function(id)
  call('DEL', key.turn(id))
  call('ZREM', key.turnsEnded, id)
end)
slice(key.delivered, before, deliveries.remove)
slice(key.expiring, now, cells.remove)

-- A deleted lane that comes back gets tokens from the clock, so they still only grow.
for _, kind in ipairs({ 'i', 'o' }) do
  slice(key.idle(kind), '(' .. (now - ${idleLaneMs}), function(name)
    local lane = lanes.get(kind, name)
    local busy = lane and (lane.holder or lane.turn or (kind == 'o' and call('ZCARD', key.undone(name)) > 0))
    if busy then
      -- Checked again when as much time has passed.
      call('ZADD', key.idle(kind), now, name)
    else
      call('DEL', key.lane(kind, name))
      call('ZREM', key.idle(kind), name)
    end
  end)
end

for _, account in ipairs(call('SMEMBERS', key.refusing)) do
  local over = call('ZCARD', key.refused(account)) - ${refusedKept}
  for _, id in ipairs(over > 0 and call('ZRANGE', key.refused(account), 0, least(over, arg.limit) - 1) or {}) do rows.remove(id) end
  if over >= arg.limit then full = true end
  if call('ZCARD', key.refused(account)) == 0 then call('SREM', key.refusing, account) end
end
call('ZREMRANGEBYSCORE', key.worked, '-inf', before)
return full and 1 or 0`,
);

/**
 * Ends leases early: all of a holder whose process is known to be dead, or those on an account's outbox of
 * everyone except `besides`, the new leader (whose term makes the store refuse their writes). Answers how
 * many.
 */
export const freeLeasesScript = script(
  [lanesLua],
  String.raw`
local freed = 0
local function freeIn(kind, pool)
  for _, name in ipairs(call('ZRANGE', key.due(kind, pool), 0, -1)) do
    local holder = call('HGET', key.lane(kind, name), 'holder')
    if holder and (arg.holder and holder == arg.holder or arg.besides and holder ~= arg.besides) then
      local lane = lanes.get(kind, name)
      if lane.at > now then
        lanes.schedule(lane, pool, now)
        freed = freed + 1
      end
    end
  end
end
if arg.pool then
  freeIn('o', arg.pool)
else
  for _, kind in ipairs({ 'i', 'o' }) do
    for _, pool in ipairs(call('SMEMBERS', key.pools(kind))) do freeIn(kind, pool) end
  end
end
return freed`,
);
