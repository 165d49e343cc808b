// Scripts that copy a whole store, slice by slice, for each kind of record. They never run beside a gateway.
import { script } from "../script.ts";

/** Answers raw records of a kind from place `from` on, and whether there may be more. */
export const readThingsScript = script(
  [],
  String.raw`
local to = arg.from + arg.limit - 1
local function each(names, show)
  local found = {}
  for n, name in ipairs(names) do found[n] = show(name) end
  return { found, #names }
end
if arg.kind == 'sessions' then
  return each(call('ZRANGE', key.sessions, arg.from, to), function(name)
    return { name, call('HMGET', key.session(name), 'epoch', 'last', 'created', 'updated'), call('HGETALL', key.fields(name)) }
  end)
elseif arg.kind == 'entries' then
  local name = call('ZRANGE', key.sessions, arg.from, arg.from)[1]
  if not name then return { {}, 0 } end
  local found = {}
  for epoch = 1, tonumber(call('HGET', key.session(name), 'epoch')) do
    for _, entry in ipairs(call('ZRANGE', key.entries(name, epoch), 0, -1)) do found[#found + 1] = { name, entry } end
  end
  return { found, 1 }
elseif arg.kind == 'rows' then
  return each(call('ZRANGE', key.rows, arg.from, to), function(id) return call('HMGET', key.row(id), 'r', 'p') end)
elseif arg.kind == 'turns' then
  local seen, ids = {}, {}
  for _, id in ipairs(call('ZRANGE', key.turnsEnded, 0, -1)) do seen[id] = true ids[#ids + 1] = id end
  for _, pool in ipairs(call('SMEMBERS', key.pools('i'))) do
    for _, lane in ipairs(call('ZRANGE', key.due('i', pool), 0, -1)) do
      local turn = call('HGET', key.lane('i', lane), 'turn')
      if turn and not seen[turn] then seen[turn] = true ids[#ids + 1] = turn end
    end
  end
  for _, lane in ipairs(call('ZRANGE', key.idle('i'), 0, -1)) do
    local turn = call('HGET', key.lane('i', lane), 'turn')
    if turn and not seen[turn] then seen[turn] = true ids[#ids + 1] = turn end
  end
  table.sort(ids)
  local slice = {}
  for n = arg.from + 1, least(#ids, to + 1) do slice[#slice + 1] = ids[n] end
  return each(slice, function(id) return { call('GET', key.turn(id)), call('LRANGE', key.steps(id), 0, -1) } end)
elseif arg.kind == 'deliveries' then
  return each(call('ZRANGE', key.deliveries, arg.from, to), function(id)
    local record = call('HGET', key.delivery(id), 'r')
    local parts = {}
    for n = 0, cjson.decode(record).parts - 1 do parts[n + 1] = call('HMGET', key.delivery(id), 's' .. n, 'c' .. n) end
    return { record, parts, call('ZSCORE', key.troubled, id) and 1 or 0 }
  end)
elseif arg.kind == 'lanes' then
  local found = {}
  local function show(kind, name, at)
    local pool, token, holder, turn = unpack(call('HMGET', key.lane(kind, name), 'pool', 'token', 'holder', 'turn'))
    if pool then found[#found + 1] = { kind, name, pool, token, holder and '0' or at, turn } end
  end
  for _, kind in ipairs({ 'i', 'o' }) do
    for _, pool in ipairs(call('SMEMBERS', key.pools(kind))) do
      local list = call('ZRANGE', key.due(kind, pool), 0, -1, 'WITHSCORES')
      for n = 1, #list, 2 do show(kind, list[n], list[n + 1]) end
    end
    for _, name in ipairs(call('ZRANGE', key.idle(kind), 0, -1)) do show(kind, name, false) end
  end
  return { found, 0 }
elseif arg.kind == 'cells' then
  return each(call('ZRANGE', key.cells, arg.from, to), function(name) return { name, call('HMGET', key.cell(name), 'v', 'n', 'x') } end)
elseif arg.kind == 'events' then
  local list = call('ZRANGE', key.events, arg.from, to, 'WITHSCORES')
  local found = {}
  for n = 1, #list, 2 do
    local at = cjson.decode(list[n])
    found[#found + 1] = { list[n], call('ZRANGEBYSCORE', key.stream(at.stream), list[n + 1], list[n + 1])[1] }
  end
  return { found, #found }
end
return { call('HGETALL', key.counters), 0 }`,
);

/** `things` are records prepared in TypeScript, whose texts are written as they are. Repeatable. */
export const writeThingsScript = script(
  [],
  String.raw`
local write = {
  sessions = function(t)
    call('HSET', key.session(t.key), 'epoch', t.epoch, 'last', t.last, 'created', t.created, 'updated', t.updated)
    call('ZADD', key.sessions, t.updated, t.key)
    for _, field in ipairs(t.fields) do call('HSET', key.fields(t.key), field[1], field[2]) end
  end,
  entries = function(t) call('ZADD', key.entries(t.lane, t.epoch), t.seq, t.text) end,
  rows = function(t)
    call('HSET', key.row(t.id), 'r', t.text, 'p', t.payload)
    call('ZADD', key.rows, t.seq, t.id)
    call('ZADD', key.laneRows(t.lane), t.seq, t.id)
    if t.subject then call('ZADD', key.subject(t.subject), t.version, t.id) end
    if t.state == 'waiting' then call('ZADD', key.waiting(t.lane), t.seq, t.id) end
    if t.state == 'context' then call('ZADD', key.context(t.lane), t.seq, t.id) end
    if t.state ~= 'ended' then return end
    call('ZADD', key.ended, t.ended, t.id)
    if t.outcome == 'dead' and not t.dismissed then call('ZADD', key.dead, t.seq, t.id) end
    if t.outcome == 'refused' then
      call('ZADD', key.refused(t.account), t.seq, t.id)
      call('SADD', key.refusing, t.account)
    end
  end,
  turns = function(t)
    call('SET', key.turn(t.id), t.text)
    call('DEL', key.steps(t.id))
    for _, step in ipairs(t.steps) do call('RPUSH', key.steps(t.id), step) end
    if t.ended then call('ZADD', key.turnsEnded, t.ended, t.id) end
  end,
  deliveries = function(t)
    call('HSET', key.delivery(t.id), 'r', t.text)
    for n, part in ipairs(t.parts) do call('HSET', key.delivery(t.id), 's' .. n - 1, part[1], 'c' .. n - 1, part[2]) end
    call('ZADD', key.deliveries, t.seq, t.id)
    call('ZADD', key.laneDeliveries(t.lane), t.seq, t.id)
    call('ZADD', key.cause(t.cause), t.seq, t.id)
    if t.done then call('ZADD', key.delivered, t.done, t.id)
    else call('ZADD', key.undone(t.lane), t.place, string.format('%016d', t.seq) .. ':' .. t.id) end
    if t.troubled then call('ZADD', key.troubled, t.seq, t.id) end
  end,
  lanes = function(t)
    call('HSET', key.lane(t.kind, t.lane), 'pool', t.pool, 'token', t.token)
    if t.turn then call('HSET', key.lane(t.kind, t.lane), 'turn', t.turn) end
    if t.at then
      call('SADD', key.pools(t.kind), t.pool)
      call('ZADD', key.due(t.kind, t.pool), t.at, t.lane)
    else call('ZADD', key.idle(t.kind), t.token, t.lane) end
  end,
  cells = function(t)
    call('HSET', key.cell(t.key), 'v', t.value, 'n', t.version)
    call('ZADD', key.cells, 0, t.key)
    if t.expires then
      call('HSET', key.cell(t.key), 'x', t.expires)
      call('ZADD', key.expiring, t.expires, t.key)
    end
  end,
  events = function(t)
    call('SET', key.event(t.id), t.seq)
    call('ZADD', key.events, t.seq, cjson.encode({ stream = t.stream, id = t.id }))
    call('ZADD', key.stream(t.stream), t.seq, t.text)
  end,
  counters = function(t)
    if tonumber(call('HGET', key.counters, t.name) or 0) < t.n then call('HSET', key.counters, t.name, t.n) end
  end,
}
for _, t in ipairs(arg.things) do write[arg.kind](t) end`,
);

export const hasThingsScript = script([], "return call('EXISTS', key.rows, key.sessions, key.deliveries)");
