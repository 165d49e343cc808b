// Lua for rows: how they are stored and end (I2), which of them a turn gets, and when they make a lane due. A
// turn gets the longest prefix of one conversation and one authority, so that an answer goes where its
// question came from (I6) and a stranger's text never enters an owner's turn. A barrier row gets a turn of
// its own.

import { longestDebounceMs } from "../../limits.ts";

export const rowsLua = String.raw`
local rows = {}

function rows.get(id)
  local record = call('HGET', key.row(id), 'r')
  return record and cjson.decode(record)
end

function rows.put(row)
  call('HSET', key.row(row.id), 'r', cjson.encode(row))
end

-- The record and the payload, as the driver reads them.
function rows.shown(id)
  return call('HMGET', key.row(id), 'r', 'p')
end

-- 'turn' is the turn that took the row; nil leaves it unchanged.
function rows.finish(row, outcome, reason, turn)
  if row.state == 'waiting' then call('ZREM', key.waiting(row.lane), row.id) end
  if row.state == 'context' then call('ZREM', key.context(row.lane), row.id) end
  row.state, row.outcome, row.reason, row.ended = 'ended', outcome, reason, now
  row.turn = turn or row.turn
  rows.put(row)
  rows.file(row)
end

-- Indexes an ended row for retention and for operators.
function rows.file(row)
  call('ZADD', key.ended, now, row.id)
  if row.outcome == 'dead' then call('ZADD', key.dead, row.seq, row.id) end
  if row.outcome == 'refused' then
    call('ZADD', key.refused(row.account), row.seq, row.id)
    call('SADD', key.refusing, row.account)
  end
end

function rows.remove(id)
  local row = rows.get(id)
  call('ZREM', key.ended, id)
  if not row then return end
  call('DEL', key.row(id))
  call('ZREM', key.rows, id)
  call('ZREM', key.laneRows(row.lane), id)
  call('ZREM', key.dead, id)
  if row.subject then call('ZREM', key.subject(row.subject), id) end
  if row.outcome == 'refused' then call('ZREM', key.refused(row.account), id) end
end

function rows.waiting(lane, limit)
  local found = {}
  for n, id in ipairs(call('ZRANGE', key.waiting(lane), 0, limit - 1)) do found[n] = rows.get(id) end
  return found
end

-- True for a row that gets a turn of its own: a barrier, or a row that processes may have died of.
function rows.isAlone(row)
  return row.barrier or row.strikes ~= nil
end

local function prefix(list, kin)
  local fit = {}
  for _, row in ipairs(list) do
    if rows.isAlone(row) or row.conversation ~= kin.conversation or row.authority ~= kin.authority then break end
    fit[#fit + 1] = row
  end
  return fit
end

-- The rows that a new turn would get.
function rows.opening(lane, maxRows)
  local list = rows.waiting(lane, maxRows)
  if not list[1] or rows.isAlone(list[1]) then return { list[1] } end
  return prefix(list, list[1])
end

-- The rows that a running turn may absorb.
function rows.following(lane, turn, maxRows)
  return prefix(rows.waiting(lane, maxRows), turn)
end

-- Rows that answer one of the tickets, wherever they stand in the lane.
function rows.answers(lane, tickets)
  local wanted, found = {}, {}
  for _, ticket in ipairs(tickets) do wanted[ticket] = true end
  if not next(wanted) then return found end
  for _, row in ipairs(rows.waiting(lane, 0)) do
    if row.ticket and wanted[row.ticket] then found[#found + 1] = row end
  end
  return found
end

-- True when a row waits that wakes a turn parked with wake = any.
function rows.hasKin(lane, turn)
  for _, row in ipairs(rows.waiting(lane, 0)) do
    if row.conversation == turn.conversation and row.authority == turn.authority and not row.ticket then return true end
  end
  return false
end

function rows.claim(turn, list)
  for _, row in ipairs(list) do
    call('ZREM', key.waiting(row.lane), row.id)
    row.state, row.turn = 'claimed', turn.id
    rows.put(row)
    turn.rows[#turn.rows + 1] = row.id
  end
end

-- Makes all rows but the first wait again, each for a turn of its own.
function rows.unclaim(turn, strikes)
  for n = 2, #turn.rows do
    local row = rows.get(turn.rows[n])
    row.state, row.turn, row.strikes = 'waiting', nil, strikes
    rows.put(row)
    call('ZADD', key.waiting(row.lane), row.seq, row.id)
  end
  turn.rows = { turn.rows[1] }
end

local longestDebounceMs = ${longestDebounceMs}
local due = {}

-- A row was added to a free lane without a turn. A runnable lane keeps its time (I15).
function due.added(lane, pool, afterMs)
  if not lane.at then return lanes.schedule(lane, pool, now + least(afterMs, longestDebounceMs)) end
  if afterMs == 0 then return lanes.schedule(lane, lane.pool, lane.at) end
  local head = rows.waiting(lane.name, 1)[1]
  local latest = (head and head.accepted or now) + longestDebounceMs
  lanes.schedule(lane, lane.pool, most(lane.at, least(now + afterMs, latest)))
end

-- The lane became free without a turn, so it is due when its waiting rows are. A paste or an album has
-- fewer than 20 parts.
function due.settle(lane)
  local list = rows.waiting(lane.name, 20)
  local head = list[1]
  if not head then return lanes.schedule(lane, lane.pool, false) end
  local latest = 0
  for _, row in ipairs(list) do latest = most(latest, row.due) end
  lanes.schedule(lane, head.pool, most(now, least(latest, head.accepted + longestDebounceMs)))
end

-- Waiting rows of a free lane ended; the remaining ones keep the lane's time.
function due.thinned(lane)
  local head = rows.waiting(lane.name, 1)[1]
  if head then lanes.schedule(lane, head.pool, lane.at) else lanes.schedule(lane, lane.pool, false) end
end
`;
