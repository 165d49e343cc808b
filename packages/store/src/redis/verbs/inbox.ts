// Scripts of the inbox: accept, stop, and operators' search for rows.
import { acceptLua } from "../lua/accept.ts";
import { lanesLua } from "../lua/lanes.ts";
import { rowsLua } from "../lua/rows.ts";
import { turnsLua } from "../lua/turns.ts";
import { script } from "../script.ts";

const parts = [lanesLua, rowsLua, turnsLua];

/**
 * `rows` as in the contract; `boot` is the boot that accepts them. Answers a list of id, seq, verdict and
 * waiting.
 */
export const acceptScript = script(
  [...parts, acceptLua],
  String.raw`
local answers, worked = accept(arg.rows), false
for n, new in ipairs(arg.rows) do
  local outcome = new.as.outcome
  if answers[n][3] ~= 'duplicate' and outcome ~= 'refused' and outcome ~= 'dead' then worked = true end
end
if worked then call('ZADD', key.worked, now, arg.boot) end
return answers`,
);

/**
 * Not repeatable, because it would also end rows that came in between. A second stop of a turn changes
 * nothing, so it cannot take the lane from the holder that is closing it.
 */
export const stopScript = script(
  parts,
  String.raw`
local lane = lanes.get('i', arg.lane)
local told = false
local spared = arg.unless and rows.get(arg.unless)
if arg.turn and lane and lane.turn and (arg.turn == 'open' or arg.turn == lane.turn)
  and not (spared and spared.turn == lane.turn) then
  told = lane.turn
  local turn = turns.get(told)
  if not turn.stop then
    turn.stop, turn.state = arg.reason, 'running'
    turns.put(turn)
    lanes.revoke(lane)
    lanes.schedule(lane, lane.pool, now)
  end
end

local chosen = arg.rows
local ids = chosen and call('ZRANGE', key.waiting(arg.lane), 0, -1) or {}
local first, last = 1, #ids
if chosen and chosen.keepNewest then last = #ids - chosen.keepNewest end
if chosen and chosen.keepOldest then first = chosen.keepOldest + 1 end
local wanted = chosen and chosen.ids and {}
for _, id in ipairs(chosen and chosen.ids or {}) do wanted[id] = true end
local ended = {}
for n = first, last do
  if not wanted or wanted[ids[n]] then
    rows.finish(rows.get(ids[n]), arg.outcome, arg.reason)
    ended[#ended + 1] = ids[n]
  end
end
if #ended > 0 and lane and not lane.holder and not lane.turn then due.thinned(lane) end
return { told, ended }`,
  { repeatable: false },
);

/**
 * One slice of a search, newest first: reads up to `scan` rows with a seq below `before`. Answers the matches
 * and the seq to go on below, or nothing at the end.
 */
export const findRowsScript = script(
  parts,
  String.raw`
local function ofTurn(id)
  local turn, ids = turns.get(id), {}
  if not turn then return ids end
  for _, each in ipairs({ turn.rows, turn.read or {} }) do
    for _, row in ipairs(each) do ids[#ids + 1] = row end
  end
  return ids
end

-- Either a short list that answers at once, or the sorted set to scan.
local short, long
if arg.id then
  short = { arg.id }
elseif arg.turn then
  short = ofTurn(arg.turn)
elseif arg.lane and arg.state == 'claimed' then
  local lane = lanes.get('i', arg.lane)
  short = lane and lane.turn and ofTurn(lane.turn) or {}
elseif arg.lane and arg.state == 'waiting' then
  long = key.waiting(arg.lane)
elseif arg.lane and arg.state == 'context' then
  long = key.context(arg.lane)
elseif arg.outcome == 'dead' and not arg.dismissed then
  long = key.dead
else
  long = arg.lane and key.laneRows(arg.lane) or key.rows
end

local function fits(row, payload)
  return (not arg.lane or row.lane == arg.lane)
    and (not arg.turn or row.turn == arg.turn)
    and (not arg.state or row.state == arg.state)
    and (not arg.outcome or row.outcome == arg.outcome)
    and (arg.dismissed or not row.dismissed)
    and (not arg.text or string.find(payload, arg.text, 1, true))
    and (not arg.message or (row.subject and string.sub(row.subject, -#arg.message - 1) == '/' .. arg.message))
    and (not arg.place or string.sub(':' .. row.conversation, -#arg.place - 1) == ':' .. arg.place)
end

local ids = short or call('ZREVRANGEBYSCORE', long, '(' .. arg.before, '-inf', 'LIMIT', 0, arg.scan)
local found, lowest = {}, false
for _, id in ipairs(ids) do
  local record, payload = unpack(rows.shown(id))
  local row = record and cjson.decode(record)
  if row then
    lowest = row.seq
    if fits(row, payload) then found[#found + 1] = { record, payload } end
  end
  if long and #found == arg.limit then break end
end
local more = long ~= nil and (#ids == arg.scan or #found == arg.limit)
return { found, more and lowest }`,
);

export const dismissScript = script(
  [rowsLua],
  String.raw`
local dismissed = 0
for _, id in ipairs(arg.ids) do
  local row = rows.get(id)
  if row and row.outcome == 'dead' and not row.dismissed then
    row.dismissed = true
    rows.put(row)
    call('ZREM', key.dead, id)
    dismissed = dismissed + 1
  end
end
return dismissed`,
);
