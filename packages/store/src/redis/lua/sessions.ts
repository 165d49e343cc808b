// Lua for sessions and their transcript. Entries are only added, and leave only by `forget` (I11). Fields
// stay JSON text, because Lua would turn [] into {}.

export const sessionsLua = String.raw`
local sessions = {}

-- epoch, last seq, created, updated
function sessions.open(lane)
  local found = call('HMGET', key.session(lane), 'epoch', 'last', 'created', 'updated')
  if found[1] then
    for n = 1, 4 do found[n] = tonumber(found[n]) end
    return found
  end
  call('HSET', key.session(lane), 'epoch', 1, 'last', 0, 'created', now, 'updated', now)
  call('ZADD', key.sessions, now, lane)
  return { 1, 0, now, now }
end

function sessions.touch(lane)
  call('HSET', key.session(lane), 'updated', now)
  call('ZADD', key.sessions, now, lane)
end

function sessions.shown(lane)
  return { lane, sessions.open(lane), call('HGETALL', key.fields(lane)) }
end

-- Pairs of field and JSON text; a field alone is deleted.
function sessions.patch(lane, patch)
  sessions.open(lane)
  for _, each in ipairs(patch) do
    if each[2] then call('HSET', key.fields(lane), each[1], each[2]) else call('HDEL', key.fields(lane), each[1]) end
  end
  sessions.touch(lane)
end

-- Appends entries and returns the last seq of the session.
function sessions.append(lane, epoch, turn, bodies)
  local seq = sessions.open(lane)[2]
  if #bodies == 0 then return seq end
  for _, body in ipairs(bodies) do
    seq = seq + 1
    call('ZADD', key.entries(lane, epoch), seq, cjson.encode({ seq = seq, epoch = epoch, turn = turn, body = body }))
  end
  call('HSET', key.session(lane), 'last', seq)
  sessions.touch(lane)
  return seq
end
`;
