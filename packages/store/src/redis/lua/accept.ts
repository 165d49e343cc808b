// Lua for accepting rows: two guards against duplicates, then queue, replace, keep as context, or close at
// once (I1, I2). Used by the verb itself and by commits that hand rows to other lanes.

export const acceptLua = String.raw`
local birth = { work = 'waiting', context = 'context', edit = 'ended', closed = 'ended' }

local function known(new)
  local row = rows.get(new.id)
  if row or not new.subject then return row end
  local version = new.version or 0
  local id = call('ZRANGEBYSCORE', key.subject(new.subject), version, version)[1]
  return id and rows.get(id)
end

local function storeRow(new)
  local as, version = new.as, new.version or 0
  local row = {
    id = new.id, seq = count('row'), lane = new.lane, pool = new.pool, conversation = new.conversation, authority = new.authority,
    -- Conversation keys begin with channel:account:; refused rows are limited per account.
    account = string.match(new.conversation, '^[^:]*:?[^:]*'),
    subject = new.subject, version = version, shown = version, state = birth[as.kind], due = now + (as.afterMs or 0),
    ticket = as.ticket, barrier = as.barrier or nil, accepted = now,
  }
  call('ZADD', key.rows, row.seq, row.id)
  call('ZADD', key.laneRows(row.lane), row.seq, row.id)
  if row.subject then call('ZADD', key.subject(row.subject), version, row.id) end
  call('HSET', key.row(row.id), 'p', new.payload)
  if row.state == 'ended' then
    row.outcome, row.reason, row.ended = as.outcome or 'superseded', as.reason, now
    rows.file(row)
  else
    call('ZADD', row.state == 'waiting' and key.waiting(row.lane) or key.context(row.lane), row.seq, row.id)
  end
  rows.put(row)
  return row
end

local function wakes(turn, row)
  for _, ticket in ipairs(cjson.decode(turn.tickets)) do
    if ticket == row.ticket then return true end
  end
  return turn.wake == 'any' and turn.conversation == row.conversation and turn.authority == row.authority and not row.ticket
end

-- Schedules the lane as the new row asks. A leased lane is looked at again when its lease ends.
local function queue(row, afterMs)
  local lane = lanes.open('i', row.lane, row.pool)
  if lane.holder then return end
  if not lane.turn then return due.added(lane, row.pool, afterMs) end
  local turn = turns.get(lane.turn)
  if turn.state == 'parked' and wakes(turn, row) then lanes.schedule(lane, lane.pool, least(lane.at or now, now)) end
end

-- The oldest version that has not ended.
local function editable(row)
  if not row.subject then return nil end
  for _, id in ipairs(call('ZRANGE', key.subject(row.subject), 0, -1)) do
    local found = id ~= row.id and rows.get(id)
    if found and found.state ~= 'ended' then return found end
  end
end

local function edit(row, payload)
  local found = editable(row)
  local late = not found or found.state == 'claimed' or found.shown >= row.version
  if late then
    row.reason = 'the edited row had started or shows a newer version'
  else
    row.reason = 'its words replaced those of ' .. found.id
    found.shown = row.version
    rows.put(found)
    call('HSET', key.row(found.id), 'p', payload)
  end
  rows.put(row)
  return late and 'late' or 'replaced'
end

local function trim(lane, keep)
  local over = call('ZCARD', key.context(lane)) - keep
  if over <= 0 then return end
  for _, id in ipairs(call('ZRANGE', key.context(lane), 0, over - 1)) do rows.finish(rows.get(id), 'context', 'trimmed') end
end

local function acceptOne(new)
  local before = known(new)
  if before then return 'duplicate', before.seq end
  local row, kind = storeRow(new), new.as.kind
  if kind == 'work' then queue(row, new.as.afterMs or 0) return 'queued', row.seq end
  if kind == 'edit' then return edit(row, new.payload), row.seq end
  if kind == 'context' then trim(row.lane, new.as.keep) end
  return kind, row.seq
end

local function accept(list)
  local answers = {}
  for n, new in ipairs(list) do
    local verdict, seq = acceptOne(new)
    answers[n] = { new.id, seq, verdict, lanes.waiting('i', new.lane) }
  end
  return answers
end
`;
