// Scripts that show every stored record in slices, and remove one if it still is what was shown. What has an
// owner at work (a held lane, a claimed row, an open turn) is never removed under its hands.
import { cellsLua } from "../lua/cells.ts";
import { deliveriesLua } from "../lua/deliveries.ts";
import { lanesLua } from "../lua/lanes.ts";
import { rowsLua } from "../lua/rows.ts";
import { script } from "../script.ts";

/** Answers raw records of a kind behind `from`, and from where to go on; false at the end. */
export const readRecordsScript = script(
  [],
  String.raw`
local function byScore(set, show)
  local list, found, last = call('ZRANGEBYSCORE', set, '(' .. arg.from, '+inf', 'WITHSCORES', 'LIMIT', 0, arg.limit), {}, false
  for n = 1, #list, 2 do
    local each = show(list[n], list[n + 1])
    if each then found[#found + 1] = each end
    last = list[n + 1]
  end
  return { found, #list / 2 == arg.limit and last }
end
local read = {}
function read.rows()
  return byScore(key.rows, function(id)
    local record, payload = unpack(call('HMGET', key.row(id), 'r', 'p'))
    return record and { record, payload or '' }
  end)
end
function read.deliveries()
  return byScore(key.deliveries, function(id)
    local record = call('HGET', key.delivery(id), 'r')
    if not record then return nil end
    local parts = {}
    for n = 0, cjson.decode(record).parts - 1 do parts[n + 1] = call('HMGET', key.delivery(id), 's' .. n, 'c' .. n) end
    return { record, parts }
  end)
end
function read.events()
  return byScore(key.events, function(each, seq)
    local text = call('ZRANGEBYSCORE', key.stream(cjson.decode(each).stream), seq, seq)[1]
    return text and { each, seq, text }
  end)
end
-- Newest first and by place: what retention removes meanwhile stands at the other end.
function read.turns()
  local names, found = call('ZREVRANGE', key.turnsEnded, arg.from, arg.from + arg.limit - 1), {}
  for _, id in ipairs(names) do
    local record = call('GET', key.turn(id))
    if record then found[#found + 1] = { record } end
  end
  return { found, #names == arg.limit and tostring(arg.from + arg.limit) }
end
function read.open()
  local found = {}
  local function add(lane)
    local turn = call('HGET', key.lane('i', lane), 'turn')
    local record = turn and call('GET', key.turn(turn))
    if record then found[#found + 1] = { record, call('LRANGE', key.steps(turn), 0, -1) } end
  end
  for _, pool in ipairs(call('SMEMBERS', key.pools('i'))) do
    for _, lane in ipairs(call('ZRANGE', key.due('i', pool), 0, -1)) do add(lane) end
  end
  for _, lane in ipairs(call('ZRANGE', key.idle('i'), 0, -1)) do add(lane) end
  return { found, false }
end
function read.lanes()
  local found = {}
  local function add(kind, name)
    local pool, holder = unpack(call('HMGET', key.lane(kind, name), 'pool', 'holder'))
    if pool then found[#found + 1] = { kind, name, holder or false } end
  end
  for _, kind in ipairs({ 'i', 'o' }) do
    for _, pool in ipairs(call('SMEMBERS', key.pools(kind))) do
      for _, name in ipairs(call('ZRANGE', key.due(kind, pool), 0, -1)) do add(kind, name) end
    end
    for _, name in ipairs(call('ZRANGE', key.idle(kind), 0, -1)) do add(kind, name) end
  end
  return { found, false }
end
return read[arg.kind]()`,
);

/** Answers how many of the things were removed. A second call finds none of them. */
export const removeRecordsScript = script(
  [lanesLua, rowsLua, deliveriesLua, cellsLua],
  String.raw`
local remove = {}
function remove.rows(each)
  local row = rows.get(each.id)
  if not row or row.state == 'claimed' then return false end
  rows.remove(row.id)
  call('ZREM', key.waiting(row.lane), row.id)
  call('ZREM', key.context(row.lane), row.id)
  return true
end
function remove.deliveries(each)
  local delivery = deliveries.get(each.id)
  if not delivery then return false end
  call('ZREM', key.undone(delivery.lane), string.format('%016d', delivery.seq) .. ':' .. delivery.id)
  deliveries.remove(each.id)
  return true
end
function remove.events(each)
  local place = cjson.decode(each.old)
  call('ZREMRANGEBYSCORE', key.stream(place.stream), each.seq, each.seq)
  call('DEL', key.event(place.id))
  return call('ZREM', key.events, each.old) == 1
end
function remove.cells(each)
  if call('HGET', key.cell(each.id), 'v') ~= each.old then return false end
  cells.remove(each.id)
  return true
end
function remove.session(each)
  local epochs = tonumber(call('HGET', key.session(each.id), 'epoch') or 0)
  for epoch = 1, epochs do call('DEL', key.entries(each.id, epoch)) end
  call('DEL', key.fields(each.id))
  call('ZREM', key.sessions, each.id)
  return call('DEL', key.session(each.id)) == 1
end
function remove.entries(each)
  if call('ZREM', key.entries(each.id, each.epoch), each.old) == 0 then return false end
  -- Whoever remembers what a transcript said sees by it that it says something else now.
  local known = tonumber(call('HGET', key.fields(each.id), 'rewritten') or 0) or 0
  call('HSET', key.fields(each.id), 'rewritten', string.format('%d', known + 1))
  return true
end
function remove.turns(each)
  local record = call('GET', key.turn(each.id))
  if not record or not cjson.decode(record).ended then return false end
  call('ZREM', key.turnsEnded, each.id)
  call('DEL', key.steps(each.id))
  return call('DEL', key.turn(each.id)) == 1
end
function remove.steps(each)
  return call('LREM', key.steps(each.id), 1, each.old) == 1
end
function remove.lanes(each)
  local lane = lanes.get(each.kind, each.id)
  if not lane or lane.holder or lane.turn or (each.kind == 'o' and call('ZCARD', key.undone(each.id)) > 0) then return false end
  if each.kind == 'i' and call('ZCARD', key.waiting(each.id)) > 0 then return false end
  call('ZREM', key.due(each.kind, lane.pool), each.id)
  call('ZREM', key.idle(each.kind), each.id)
  return call('DEL', key.lane(each.kind, each.id)) == 1
end
local done = 0
for _, each in ipairs(arg.things) do
  if remove[arg.kind](each) then done = done + 1 end
end
return done`,
);
