// Lua for the durable turn: its record, its rows and its log.

export const turnsLua = String.raw`
local turns = {}

function turns.get(id)
  local record = call('GET', key.turn(id))
  return record and cjson.decode(record)
end

function turns.put(turn)
  call('SET', key.turn(turn.id), cjson.encode(turn))
end

function turns.length(id)
  return call('LLEN', key.steps(id))
end

function turns.addStep(id, kind, body)
  call('RPUSH', key.steps(id), cjson.encode({ kind = kind, body = body }))
end

-- The open turn of a lane that the lease still holds.
function turns.fenced(lease)
  local lane = lanes.fenced('i', lease)
  local turn = lane.turn and turns.get(lane.turn)
  if turn then return lane, turn end
  refuse('conflict', 'the lane ' .. lease.lane .. ' has no open turn any more')
end

function turns.refuseStep(id, at, length)
  refuse('invalid', 'the log of ' .. id .. ' has ' .. length .. ' steps: nothing can be written at position ' .. at)
end

function turns.absorb(turn, list)
  rows.claim(turn, list)
  local ids = {}
  for n, row in ipairs(list) do ids[n] = row.id end
  turns.addStep(turn.id, 'absorbed', cjson.encode(ids))
end

-- The turn as its holder gets it: lease, record, rows, context before the last row, log.
function turns.handed(lane, turn, ask)
  local found, context, last = {}, {}, 0
  for n, id in ipairs(turn.rows) do
    found[n] = rows.shown(id)
    last = most(last, rows.get(id).seq)
  end
  for n, id in ipairs(call('ZRANGEBYSCORE', key.context(lane.name), '-inf', '(' .. last)) do context[n] = rows.shown(id) end
  return { lane.name, lane.token, lane.holder, ask, cjson.encode(turn), found, context, call('LRANGE', key.steps(turn.id), 0, -1) }
end
`;
