// Scripts that read every stored text in slices and put another in its place, if it still says the same.
// Words of people and models stand in these places alone; names and numbers beside them are never read.
import { script } from "../script.ts";

/**
 * Answers records of a kind behind `from`, each with where it stands and what it says, and from where to go
 * on; false at the end.
 */
export const readTextsScript = script(
  [],
  String.raw`
local function byScore(set, show)
  local list, found, last = call('ZRANGEBYSCORE', set, '(' .. arg.from, '+inf', 'WITHSCORES', 'LIMIT', 0, arg.limit), {}, false
  for n = 1, #list, 2 do
    for _, each in ipairs(show(list[n], list[n + 1])) do found[#found + 1] = each end
    last = list[n + 1]
  end
  return { found, #list / 2 == arg.limit and last }
end
local read = {}
function read.rows()
  return byScore(key.rows, function(id)
    local record, payload = unpack(call('HMGET', key.row(id), 'r', 'p'))
    return record and { { id, payload or '', cjson.decode(record).reason or false } } or {}
  end)
end
function read.parts()
  return byScore(key.deliveries, function(id)
    local record, found = call('HGET', key.delivery(id), 'r'), {}
    for n = 0, record and cjson.decode(record).parts - 1 or -1 do
      local state, content = unpack(call('HMGET', key.delivery(id), 's' .. n, 'c' .. n))
      local part = cjson.decode(state)
      found[#found + 1] = { id, n, content, part.receipt or false, part.reason or false }
    end
    return found
  end)
end
function read.events()
  return byScore(key.events, function(each, seq)
    local stream = cjson.decode(each).stream
    local text = call('ZRANGEBYSCORE', key.stream(stream), seq, seq)[1]
    return text and { { stream, seq, text } } or {}
  end)
end
function read.cells()
  local names = call('ZRANGEBYLEX', key.cells, arg.from == '' and '-' or '(' .. arg.from, '+', 'LIMIT', 0, arg.limit)
  local found = {}
  for _, name in ipairs(names) do
    local value = call('HGET', key.cell(name), 'v')
    if value then found[#found + 1] = { name, value } end
  end
  return { found, #names == arg.limit and names[#names] }
end
-- Names alone: what a session and a turn hold is read one by one.
function read.sessions()
  return { call('ZRANGE', key.sessions, 0, -1), false }
end
function read.turns()
  local found = {}
  local function add(lane)
    local turn = call('HGET', key.lane('i', lane), 'turn')
    if turn then found[#found + 1] = turn end
  end
  for _, pool in ipairs(call('SMEMBERS', key.pools('i'))) do
    for _, lane in ipairs(call('ZRANGE', key.due('i', pool), 0, -1)) do add(lane) end
  end
  for _, lane in ipairs(call('ZRANGE', key.idle('i'), 0, -1)) do add(lane) end
  return { found, false }
end
function read.session()
  return { call('HGETALL', key.fields(arg.name)), tonumber(call('HGET', key.session(arg.name), 'epoch') or 0) }
end
function read.entries()
  return byScore(key.entries(arg.name, arg.epoch), function(text, seq) return { { seq, text } } end)
end
function read.steps()
  return { call('LRANGE', key.steps(arg.name), 0, -1), false }
end
return read[arg.kind]()`,
);

/** Answers how many of the changes found what they meant to change. */
export const writeTextsScript = script(
  [],
  String.raw`
local function field(hash, name, each)
  if call('HGET', hash, name) ~= each.old then return false end
  if each.text then call('HSET', hash, name, each.text) else call('HDEL', hash, name) end
  return true
end
-- Of a record in a hash: one of its fields.
local function inRecord(hash, name, each)
  local text = call('HGET', hash, name)
  local record = text and cjson.decode(text)
  if not record or record[each.field] ~= each.old then return false end
  record[each.field] = each.text
  call('HSET', hash, name, cjson.encode(record))
  return true
end
local function member(set, score, each)
  if call('ZREM', set, each.old) == 0 then return false end
  call('ZADD', set, score, each.text)
  return true
end
local write = {
  rows = function(each)
    if each.field then return inRecord(key.row(each.id), 'r', each) end
    return field(key.row(each.id), 'p', each)
  end,
  parts = function(each)
    if each.field then return inRecord(key.delivery(each.id), 's' .. each.n, each) end
    return field(key.delivery(each.id), 'c' .. each.n, each)
  end,
  cells = function(each) return field(key.cell(each.id), 'v', each) end,
  session = function(each) return field(key.fields(each.id), each.field, each) end,
  events = function(each) return member(key.stream(each.id), each.seq, each) end,
  entries = function(each)
    if not member(key.entries(each.id, each.epoch), each.seq, each) then return false end
    -- Whoever remembers what a transcript said sees by it that it says something else now.
    local known = tonumber(call('HGET', key.fields(each.id), 'rewritten') or 0) or 0
    call('HSET', key.fields(each.id), 'rewritten', string.format('%d', known + 1))
    return true
  end,
  steps = function(each)
    if call('LINDEX', key.steps(each.id), each.n) ~= each.old then return false end
    call('LSET', key.steps(each.id), each.n, each.text)
    return true
  end,
}
local done = 0
for _, each in ipairs(arg.changes) do
  if write[arg.kind](each) then done = done + 1 end
end
return done`,
  { repeatable: false },
);
