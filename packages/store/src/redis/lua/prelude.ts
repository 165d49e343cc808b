// The Lua that every script begins with: key names, time, refusals and wake hints. Every durable key begins
// with KEYS[1], the store's prefix with its hash tag, and is named only here. A script is atomic but never
// rolled back, so everything that may refuse runs before the first write.

export const prelude = String.raw`
local K = KEYS[1]
local call = redis.call
local arg = cjson.decode(ARGV[2])

-- All nodes use the server's time; tests pass in their own.
local now = tonumber(ARGV[1])
if not now then
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Refuses a handle that remembers another store, before anything is read or written.
if ARGV[3] ~= '' and call('GET', K .. 'identity') ~= ARGV[3] then return { 'lost' } end

local key = {
  identity = K .. 'identity',                                          -- string: drawn when the store is made
  counters = K .. 'counters',                                          -- hash: row, delivery, event, cell, probe
  lane = function(kind, lane) return K .. 'lane:' .. kind .. ':' .. lane end, -- hash: pool token holder turn ask
  due = function(kind, pool) return K .. 'due:' .. kind .. ':' .. pool end,   -- zset: lane by due time, lease expiry or park deadline
  idle = function(kind) return K .. 'idle:' .. kind end,               -- zset: lane with nothing to do, by its token
  pools = function(kind) return K .. 'pools:' .. kind end,             -- set
  row = function(id) return K .. 'row:' .. id end,                     -- hash: r = record, p = payload
  rows = K .. 'rows',                                                  -- zset: every row by seq
  laneRows = function(lane) return K .. 'rows:' .. lane end,           -- zset: the same of one lane
  waiting = function(lane) return K .. 'wait:' .. lane end,            -- zset: rows that wait, by seq
  context = function(lane) return K .. 'context:' .. lane end,         -- zset: rows that are context, by seq
  subject = function(subject) return K .. 'subject:' .. subject end,   -- zset: row by version; the second guard
  ended = K .. 'ended',                                                -- zset: ended rows by time
  dead = K .. 'dead',                                                  -- zset: dead rows that nobody dismissed, by seq
  refused = function(account) return K .. 'refused:' .. account end,   -- zset: refused rows by seq
  refusing = K .. 'refusing',                                          -- set: accounts with refused rows
  turn = function(id) return K .. 'turn:' .. id end,                   -- string: record
  steps = function(id) return K .. 'steps:' .. id end,                 -- list: the log of an open turn
  turnsEnded = K .. 'turns-ended',                                     -- zset: by time
  session = function(lane) return K .. 'session:' .. lane end,         -- hash: epoch last created updated
  fields = function(lane) return K .. 'fields:' .. lane end,           -- hash: field -> JSON text
  sessions = K .. 'sessions',                                          -- zset: by time of change
  entries = function(lane, epoch) return K .. 'entries:' .. epoch .. ':' .. lane end, -- zset: entry by seq
  delivery = function(id) return K .. 'delivery:' .. id end,           -- hash: r = record, s<n> = state, c<n> = content of part n
  deliveries = K .. 'deliveries',                                      -- zset: every delivery by seq
  laneDeliveries = function(lane) return K .. 'deliveries:' .. lane end, -- zset: the same of one conversation
  undone = function(lane) return K .. 'undone:' .. lane end,           -- zset: "<seq>:<id>" by place
  cause = function(cause) return K .. 'cause:' .. cause end,           -- zset: deliveries by seq
  delivered = K .. 'delivered',                                        -- zset: done deliveries by time
  troubled = K .. 'troubled',                                          -- zset: by seq
  cell = function(name) return K .. 'cell:' .. name end,               -- hash: v = value, n = version, x = expiry
  cells = K .. 'cells',                                                -- zset: names, in their own order
  expiring = K .. 'expiring',                                          -- zset: cells by expiry
  events = K .. 'events',                                              -- zset: {stream, id} by seq
  stream = function(stream) return K .. 'stream:' .. stream end,       -- zset: event by seq
  event = function(id) return K .. 'event:' .. id end,                 -- string: seq
  boots = function(node) return K .. 'boots:' .. node end,             -- list: boots of a node, newest first
  boot = function(id) return K .. 'boot:' .. id end,                   -- hash: started stopped
  worked = K .. 'worked',                                              -- zset: boots by when they last took a message in or ended a turn
}

local function count(name)
  return call('HINCRBY', key.counters, name, 1)
end

-- The driver throws a Fault with this code.
local function refuse(code, message)
  error({ refused = code, message = message })
end

local woken = {}
local function wake(pool, lane, at)
  woken[#woken + 1] = pool
  woken[#woken + 1] = lane
  woken[#woken + 1] = at
end

local function least(a, b) if a < b then return a end return b end
local function most(a, b) if a > b then return a end return b end
`;

/** Runs the verb. A refusal is a normal answer; any other error is a bug in the script. */
export const epilogue = String.raw`
local fine, answer = pcall(verb)
if fine then
  if answer == nil then answer = false end
  return { 'done', answer, woken }
end
if type(answer) == 'table' then
  if answer.refused then return { 'refused', answer.refused, answer.message } end
  return answer
end
return redis.error_reply(answer)
`;
