// Lua for leases on lanes. Every verb with a lease checks the fencing token first (I3). Expiry alone refuses
// nothing; only a newer token, a release or a stop does. Lanes have two kinds: i for sessions of the inbox, o
// for conversations of the outbox.

import { countedUpTo } from "../../limits.ts";

export const lanesLua = String.raw`
local lanes = {}

function lanes.get(kind, name)
  local pool, token, holder, turn = unpack(call('HMGET', key.lane(kind, name), 'pool', 'token', 'holder', 'turn'))
  if not pool then return nil end
  local at = call('ZSCORE', key.due(kind, pool), name)
  return { kind = kind, name = name, pool = pool, token = tonumber(token), holder = holder, turn = turn, at = at and tonumber(at) }
end

function lanes.open(kind, name, pool)
  local known = lanes.get(kind, name)
  if known then return known end
  call('HSET', key.lane(kind, name), 'pool', pool, 'token', 0)
  call('ZADD', key.idle(kind), 0, name)
  return { kind = kind, name = name, pool = pool, token = 0, holder = false, turn = false, at = false }
end

-- Sets when a free lane may be taken (false: never) and wakes the runners of its pool.
function lanes.schedule(lane, pool, at)
  if pool ~= lane.pool then
    call('ZREM', key.due(lane.kind, lane.pool), lane.name)
    call('HSET', key.lane(lane.kind, lane.name), 'pool', pool)
    lane.pool = pool
  end
  lane.at = at
  if not at then
    call('ZREM', key.due(lane.kind, pool), lane.name)
    call('ZADD', key.idle(lane.kind), lane.token, lane.name)
    return
  end
  call('SADD', key.pools(lane.kind), pool)
  call('ZADD', key.due(lane.kind, pool), at, lane.name)
  call('ZREM', key.idle(lane.kind), lane.name)
  wake(pool, lane.name, at)
end

local function hold(lane, forMs)
  lane.at = now + forMs
  call('ZADD', key.due(lane.kind, lane.pool), lane.at, lane.name)
end

-- Leases the lane that has been runnable longest (I15). Its token grows before anything is handed out.
function lanes.lease(kind, want)
  local name = call('ZRANGEBYSCORE', key.due(kind, want.pool), '-inf', now, 'LIMIT', 0, 1)[1]
  if not name then return nil end
  local lane = lanes.get(kind, name)
  -- The lease that ran out, where it was not free.
  if lane.holder then lane.before = { holder = lane.holder, token = lane.token } end
  lane.token = most(lane.token + 1, now)
  lane.holder = want.holder
  call('HSET', key.lane(kind, name), 'token', lane.token, 'holder', want.holder, 'ask', want.ask)
  hold(lane, want.leaseMs)
  return lane
end

-- Finds the lease of an earlier call whose answer was lost; the caller names that call.
function lanes.leased(kind, want)
  if #want.lost == 0 then return nil end
  local lost = {}
  for _, ask in ipairs(want.lost) do lost[ask] = true end
  for _, name in ipairs(call('ZRANGE', key.due(kind, want.pool), 0, 999)) do
    local ask, holder = unpack(call('HMGET', key.lane(kind, name), 'ask', 'holder'))
    if holder == want.holder and lost[ask] then
      local lane = lanes.get(kind, name)
      -- Recorded under the new call's name, so that no other call gets it too.
      call('HSET', key.lane(kind, name), 'ask', want.ask)
      hold(lane, want.leaseMs)
      return lane, ask
    end
  end
end

function lanes.fenced(kind, lease)
  local lane = lanes.get(kind, lease.lane)
  if lane and lane.token == lease.token and lane.holder == lease.holder then return lane end
  refuse('conflict', 'the lease ' .. lease.token .. ' on ' .. lease.lane .. ' is lost: its holder writes nothing more')
end

lanes.renew = hold

function lanes.free(lane)
  lane.holder = false
  call('HDEL', key.lane(lane.kind, lane.name), 'holder', 'ask')
end

-- Takes the lane from its holder.
function lanes.revoke(lane)
  lane.token = most(lane.token + 1, now)
  call('HSET', key.lane(lane.kind, lane.name), 'token', lane.token)
  lanes.free(lane)
end

function lanes.setTurn(lane, turn)
  lane.turn = turn
  if turn then call('HSET', key.lane(lane.kind, lane.name), 'turn', turn)
  else call('HDEL', key.lane(lane.kind, lane.name), 'turn') end
end

function lanes.nextAt(kind, pool)
  local at = call('ZRANGE', key.due(kind, pool), 0, 0, 'WITHSCORES')[2]
  return at and tonumber(at)
end

function lanes.waiting(kind, name)
  return least(${countedUpTo}, call('ZCARD', kind == 'i' and key.waiting(name) or key.undone(name)))
end

-- Oldest first; lanes with nothing to do come last.
function lanes.list(kind, pool, limit)
  local due = {}
  for _, each in ipairs(pool and { pool } or call('SMEMBERS', key.pools(kind))) do
    local found = call('ZRANGE', key.due(kind, each), 0, limit - 1, 'WITHSCORES')
    for n = 1, #found, 2 do due[#due + 1] = { name = found[n], at = tonumber(found[n + 1]) } end
  end
  table.sort(due, function(a, b) return a.at < b.at or (a.at == b.at and a.name < b.name) end)
  local views = {}
  local function show(name)
    local lane = lanes.get(kind, name)
    if lane and #views < limit and (not pool or lane.pool == pool) then
      views[#views + 1] = { name, lane.pool, lane.at, lane.holder, lane.token, lanes.waiting(kind, name) }
    end
  end
  for _, each in ipairs(due) do show(each.name) end
  local from = 0
  while #views < limit do
    local idle = call('ZRANGE', key.idle(kind), from, from + 199)
    if #idle == 0 then break end
    for _, name in ipairs(idle) do show(name) end
    from = from + 200
  end
  return views
end
`;
