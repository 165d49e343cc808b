// Scripts for turns. Everything that may refuse is checked before the first write.
import { acceptLua } from "../lua/accept.ts";
import { cellsLua } from "../lua/cells.ts";
import { deliveriesLua } from "../lua/deliveries.ts";
import { lanesLua } from "../lua/lanes.ts";
import { rowsLua } from "../lua/rows.ts";
import { sessionsLua } from "../lua/sessions.ts";
import { turnsLua } from "../lua/turns.ts";
import { script } from "../script.ts";

const parts = [lanesLua, rowsLua, turnsLua];

/**
 * Raises the attempt count before it hands anything out. Repeatable, because the next call asks for a lost
 * answer by the name of its call.
 */
export const takeScript = script(
  [...parts, sessionsLua],
  String.raw`
local function open(lane)
  local list = rows.opening(lane.name, arg.maxRows)
  local head = list[1]
  if not head then return nil end
  local turn = { id = lane.name .. '#' .. lane.token, lane = lane.name, pool = lane.pool, conversation = head.conversation,
    authority = head.authority, epoch = sessions.open(lane.name)[1], attempt = (head.strikes or 0) + 1, state = 'running', alone = rows.isAlone(head) or nil, tickets = '[]',
    opened = now, rows = {} }
  rows.claim(turn, list)
  turns.put(turn)
  lanes.setTurn(lane, turn.id)
  return turn
end

-- A parked turn takes the answers to its tickets along, including those from another conversation.
local function reopen(lane)
  local turn = turns.get(lane.turn)
  local parked = turn.state == 'parked'
  turn.state = 'running'
  -- A holder that takes its own lane again was late, but nobody died.
  if not lane.before or lane.before.holder ~= lane.holder then
    turn.attempt, turn.struck = turn.attempt + 1, lane.before and lane.before.token
  end
  if parked then
    local answers = rows.answers(lane.name, cjson.decode(turn.tickets))
    if #answers > 0 then turns.absorb(turn, answers) end
  end
  turns.put(turn)
  return turn
end

local leased, ask = lanes.leased('i', arg)
if leased and leased.turn then return turns.handed(leased, turns.get(leased.turn), ask) end
while true do
  local lane = lanes.lease('i', arg)
  if not lane then return lanes.nextAt('i', arg.pool) end
  local turn
  if lane.turn then turn = reopen(lane) else turn = open(lane) end
  if turn then return turns.handed(lane, turn, false) end
  lanes.free(lane)
  lanes.schedule(lane, lane.pool, false)
end`,
);

export const findTurnScript = script(
  parts,
  String.raw`
local record = call('GET', key.turn(arg.turn))
if not record then return false end
local turn, entries = cjson.decode(record), {}
-- A commit adds all its entries at once, so they end at its seq.
if turn.added and turn.added > 0 then
  local first = turn.seq - least(turn.added, arg.entries) + 1
  entries = call('ZRANGEBYSCORE', key.entries(turn.lane, turn.epoch), first, turn.seq)
end
return { record, call('LRANGE', key.steps(arg.turn), 0, -1), entries }`,
);

export const extendTurnScript = script(
  [lanesLua],
  String.raw`
local lane = lanes.fenced('i', arg.lease)
lanes.renew(lane, arg.leaseMs)
return lanes.waiting('i', lane.name)`,
);

export const releaseTurnScript = script(
  parts,
  String.raw`
local lane, turn = turns.fenced(arg.lease)
if arg.refund then
  turn.attempt = most(0, turn.attempt - 1)
  turns.put(turn)
end
lanes.free(lane)
lanes.schedule(lane, lane.pool, now + arg.afterMs)`,
);

/** Answers rows. When the log position is already written, answers the rows absorbed there. */
export const absorbScript = script(
  parts,
  String.raw`
local lane, turn = turns.fenced(arg.lease)
local length = turns.length(turn.id)
if arg.at > length then turns.refuseStep(turn.id, arg.at, length) end
local ids = {}
if arg.at < length then
  local step = cjson.decode(call('LINDEX', key.steps(turn.id), arg.at))
  if step.kind == 'absorbed' then ids = cjson.decode(step.body) end
elseif arg.evenAlone or not turn.alone then
  local list = rows.following(lane.name, turn, arg.maxRows)
  if #list > 0 then
    turns.absorb(turn, list)
    turns.put(turn)
  end
  for n, row in ipairs(list) do ids[n] = row.id end
end
local found = {}
for n, id in ipairs(ids) do found[n] = rows.shown(id) end
return found`,
);

export const checkpointScript = script(
  [...parts, acceptLua, deliveriesLua, cellsLua],
  String.raw`
local lane, turn = turns.fenced(arg.lease)
local length = turns.length(turn.id)
if #arg.steps > 0 and arg.at + #arg.steps <= length then return length end
if arg.at ~= length then turns.refuseStep(turn.id, arg.at, length) end
cells.check(arg.cells)
for _, step in ipairs(arg.steps) do turns.addStep(turn.id, step.kind, step.body) end
post(arg.deliveries)
cells.write(arg.cells)
turn.attempt = 1
turns.put(turn)
accept(arg.rows)
return length + #arg.steps`,
);

export const livedScript = script(
  parts,
  String.raw`
local lane = lanes.get('i', arg.lease.lane)
local turn = lane and lane.turn and turns.get(lane.turn)
if not turn then return end
if lane.token == arg.lease.token and lane.holder == arg.lease.holder then
  turn.attempt = 1
elseif turn.struck == arg.lease.token and turn.attempt > 1 then
  turn.attempt, turn.struck = turn.attempt - 1, nil
else
  return
end
turns.put(turn)`,
);

/** Answers the lane's turn as take does. */
export const splitScript = script(
  parts,
  String.raw`
local lane, turn = turns.fenced(arg.lease)
turn.alone = true
turns.put(turn)
local kept = {}
for _, text in ipairs(call('LRANGE', key.steps(turn.id), 0, -1)) do
  local kind = cjson.decode(text).kind
  if kind == 'preview' then kept[#kept + 1] = text
  elseif kind ~= 'absorbed' then return turns.handed(lane, turn, false) end
end
rows.unclaim(turn, most(1, turn.attempt - 1))
call('DEL', key.steps(turn.id))
for _, text in ipairs(kept) do call('RPUSH', key.steps(turn.id), text) end
turns.put(turn)
return turns.handed(lane, turn, false)`,
);

/** Sees an answer that came before the park. */
export const parkScript = script(
  parts,
  String.raw`
local lane, turn = turns.fenced(arg.lease)
turn.state, turn.attempt, turn.tickets, turn.wake = 'parked', 0, cjson.encode(arg.tickets), arg.wake
if #arg.tickets == 0 then turn.tickets = '[]' end
turns.put(turn)
local awake = #rows.answers(lane.name, arg.tickets) > 0 or (arg.wake == 'any' and rows.hasKin(lane.name, turn))
lanes.free(lane)
lanes.schedule(lane, lane.pool, awake and now or arg.untilMs)`,
);

/**
 * The end of a turn, all or nothing: transcript, rows, deliveries, rows for other lanes, cells, session
 * fields, lane (I2, I3).
 */
export const commitScript = script(
  [...parts, acceptLua, sessionsLua, deliveriesLua, cellsLua],
  String.raw`
local turn = turns.get(arg.turn)
-- The same holder asks again after its answer was lost; the lane may have moved on since.
if turn and turn.state == 'done' and turn.lane == arg.lease.lane and turn.token == arg.lease.token then return turn.seq end
local lane = lanes.fenced('i', arg.lease)
if not turn or lane.turn ~= turn.id then refuse('conflict', 'the turn ' .. arg.turn .. ' is not open in ' .. lane.name) end
cells.check(arg.cells)

local seq = sessions.append(lane.name, turn.epoch, turn.id, arg.entries)
for _, id in ipairs(turn.rows) do rows.finish(rows.get(id), arg.outcome, arg.reason) end
if arg.contextThrough then
  turn.read = call('ZRANGEBYSCORE', key.context(lane.name), '-inf', arg.contextThrough)
  for _, id in ipairs(turn.read) do rows.finish(rows.get(id), 'context', 'read by the turn', turn.id) end
  if #turn.read == 0 then turn.read = nil end
end
if arg.patch then sessions.patch(lane.name, arg.patch) end
cells.write(arg.cells)
post(arg.deliveries)
call('DEL', key.steps(turn.id))
turn.state, turn.token, turn.seq, turn.added, turn.ended = 'done', arg.lease.token, seq, #arg.entries, now
turns.put(turn)
call('ZADD', key.turnsEnded, now, turn.id)
call('ZADD', key.worked, now, arg.lease.holder)
lanes.setTurn(lane, false)
lanes.free(lane)
due.settle(lane)
accept(arg.rows)
return seq`,
);
