// Lua for deliveries and their parts: everything that is sent has a row first. Ids are deterministic, so a
// repeat queues nothing. A sorted set per conversation gives the order: a delivery's own seq, or the place of
// the preview that it closes.

export const deliveriesLua = String.raw`
local deliveries = {}

function deliveries.get(id)
  local record = call('HGET', key.delivery(id), 'r')
  return record and cjson.decode(record)
end

function deliveries.put(delivery)
  call('HSET', key.delivery(delivery.id), 'r', cjson.encode(delivery))
end

function deliveries.part(delivery, n)
  return cjson.decode(call('HGET', key.delivery(delivery.id), 's' .. n))
end

function deliveries.parts(delivery)
  local list = {}
  for n = 0, delivery.parts - 1 do list[n + 1] = deliveries.part(delivery, n) end
  return list
end

function deliveries.putPart(delivery, n, part)
  call('HSET', key.delivery(delivery.id), 's' .. n, cjson.encode(part))
end

function deliveries.fresh(into)
  return { into = into, state = 'queued', token = 0, started = 0, attempts = 0, resends = 0, flagged = false }
end

function deliveries.addParts(delivery, list)
  for n, part in ipairs(list) do
    call('HSET', key.delivery(delivery.id), 'c' .. n - 1, part.content)
    deliveries.putPart(delivery, n - 1, deliveries.fresh(part.into))
  end
end

local function member(delivery)
  return string.format('%016d', delivery.seq) .. ':' .. delivery.id
end

-- Ids of a conversation's undone deliveries, the head first.
function deliveries.undone(lane, limit)
  local found = call('ZRANGE', key.undone(lane), 0, limit - 1)
  for n, each in ipairs(found) do found[n] = string.sub(each, 18) end
  return found
end

function deliveries.isActive(part)
  return part.state == 'queued' or part.state == 'sending'
end

local function anyActive(parts)
  for _, part in ipairs(parts) do
    if deliveries.isActive(part) then return true end
  end
  return false
end

-- A sent preview keeps the head: nothing may come between it and the message that replaces it.
local function holdsHead(delivery, parts)
  if not delivery.preview or delivery.closed then return false end
  for _, part in ipairs(parts) do
    if part.state ~= 'sent' then return false end
  end
  return true
end

function deliveries.blocks(delivery, parts)
  return anyActive(parts) or holdsHead(delivery, parts)
end

-- True when the head of the conversation has something to send.
function deliveries.hasWork(lane)
  local head = deliveries.undone(lane, 1)[1]
  return head ~= nil and anyActive(deliveries.parts(deliveries.get(head)))
end

-- Marks the delivery done once its parts ended. A sent preview stays until it is closed.
function deliveries.settle(delivery)
  local parts = deliveries.parts(delivery)
  if deliveries.blocks(delivery, parts) then return end
  delivery.done = now
  deliveries.put(delivery)
  call('ZREM', key.undone(delivery.lane), member(delivery))
  call('ZADD', key.delivered, now, delivery.id)
  if delivery.dropped then return end
  for _, part in ipairs(parts) do
    if part.state ~= 'sent' then return call('ZADD', key.troubled, delivery.seq, delivery.id) end
  end
end

-- Closes a delivery for good: parts that have not begun fail, and its holder settles one under way.
function deliveries.close(delivery, reason)
  delivery.closed, delivery.dropped = true, true
  deliveries.put(delivery)
  for n, part in ipairs(deliveries.parts(delivery)) do
    if part.state == 'queued' then
      part.state, part.reason = 'failed', reason
      deliveries.putPart(delivery, n - 1, part)
    end
  end
  deliveries.settle(delivery)
end

-- The place half a step behind the last delivery of the reply at the head; nil when no reply waits.
-- Answers that pass get the places in between.
local function behindHeadReply(lane)
  local found = call('ZRANGE', key.undone(lane), 0, -1, 'WITHSCORES')
  local cause, place
  for n = 1, #found, 2 do
    local score = tonumber(found[n + 1])
    if score == math.floor(score) then
      local each = deliveries.get(string.sub(found[n], 18))
      cause = cause or each.cause
      if each.cause == cause then place = score end
    end
  end
  return place and place + 0.5
end

local function postOne(new)
  if call('EXISTS', key.delivery(new.id)) == 1 then return end
  local delivery = { id = new.id, seq = count('delivery'), lane = new.lane, pool = new.pool, cause = new.cause, preview = new.open or nil,
    created = now, parts = #new.parts }
  delivery.place = new.passes and behindHeadReply(new.lane) or delivery.seq
  deliveries.addParts(delivery, new.parts)
  local preview = new.closes and deliveries.get(new.closes)
  if preview and preview.lane == new.lane and preview.preview and not preview.closed and not preview.done then
    delivery.place = preview.place
    deliveries.close(preview, 'superseded')
  end
  deliveries.put(delivery)
  call('ZADD', key.deliveries, delivery.seq, delivery.id)
  call('ZADD', key.laneDeliveries(delivery.lane), delivery.seq, delivery.id)
  call('ZADD', key.cause(delivery.cause), delivery.seq, delivery.id)
  call('ZADD', key.undone(delivery.lane), delivery.place, member(delivery))
  local lane = lanes.open('o', delivery.lane, delivery.pool)
  if not lane.holder and deliveries.hasWork(delivery.lane) then lanes.schedule(lane, delivery.pool, lane.at or now) end
end

local function post(list)
  for _, new in ipairs(list) do postOne(new) end
end

local function receiptOf(into)
  local id, n = string.match(into, '^(.*)/(%d+)$')
  local record = id and call('HGET', key.delivery(id), 's' .. n)
  local part = record and cjson.decode(record)
  return part and part.state == 'sent' and part.receipt or false
end

-- The record, then state, content and edited part of each part.
function deliveries.shown(id)
  local record = call('HGET', key.delivery(id), 'r')
  local parts = {}
  for n = 0, cjson.decode(record).parts - 1 do
    local state, content = unpack(call('HMGET', key.delivery(id), 's' .. n, 'c' .. n))
    local into = cjson.decode(state).into
    parts[n + 1] = { state, content, into and receiptOf(into) or false }
  end
  return { record, parts }
end

function deliveries.remove(id)
  local delivery = deliveries.get(id)
  call('ZREM', key.delivered, id)
  if not delivery then return end
  call('DEL', key.delivery(id))
  call('ZREM', key.deliveries, id)
  call('ZREM', key.troubled, id)
  call('ZREM', key.laneDeliveries(delivery.lane), id)
  call('ZREM', key.cause(delivery.cause), id)
end
`;
