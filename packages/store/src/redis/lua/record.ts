// Lua that journals changes to the head of a conversation (I4, I5). All changes are made on a draft first, so
// a refused batch changes nothing. Changes that repeat the present state are skipped.

export const recordLua = String.raw`
local function refused(change, why)
  refuse('invalid', 'part ' .. change.part .. ' of ' .. change.delivery .. ' cannot become ' .. change.to .. ': ' .. why)
end

local function isRepeat(part, change, token)
  if change.to == 'sending' then return part.attempts == change.attempt and part.token == token end
  return part.state == change.to and (change.to ~= 'sent' or part.receipt == change.receipt)
end

local function begin(draft, part, change, token)
  if change.attempt ~= part.attempts + 1 then
    refused(change, part.attempts .. ' attempts were made, so the next is not ' .. change.attempt)
  end
  if part.state == 'sent' or part.state == 'failed' then refused(change, 'the part is ' .. part.state) end
  local resend = part.state ~= 'queued'
  for n = change.part + 2, #draft.parts do
    if resend and draft.parts[n].attempts > 0 then refused(change, 'a later part has begun') end
  end
  local risksDouble = resend and not change.idempotent
  if risksDouble and part.flagged then refused(change, 'it was sent again once already, and may show twice') end
  part.state, part.token, part.started, part.attempts, part.reason = 'sending', token, now, change.attempt, nil
  part.resends = part.resends + (resend and 1 or 0)
  part.flagged = part.flagged or risksDouble
end

-- Reading our own messages back may settle an unknown outcome as sent or failed.
local from = {
  sent = { sending = true, ambiguous = true },
  failed = { queued = true, sending = true, ambiguous = true },
  ambiguous = { sending = true },
  queued = { sending = true },
}

local function finish(part, change)
  if not from[change.to][part.state] then refused(change, 'a part that is ' .. part.state .. ' cannot become ' .. change.to) end
  part.state, part.reason = change.to, change.reason
  if change.to == 'sent' then part.receipt = change.receipt end
end

local function split(draft, change)
  local begun = draft.delivery.split
  for _, part in ipairs(draft.parts) do begun = begun or part.attempts > 0 or part.state ~= 'queued' end
  if begun then refused(change, 'it is split already, or has begun') end
  draft.split = change.split
  draft.delivery.split = true
  draft.parts = {}
  for n, part in ipairs(change.split) do draft.parts[n] = deliveries.fresh(part.into) end
end

local function apply(draft, change, token)
  if change.split then split(draft, change) end
  local part = draft.parts[change.part + 1]
  if not part then refused(change, 'it has ' .. #draft.parts .. ' parts') end
  for n = 1, change.part do
    if deliveries.isActive(draft.parts[n]) then refused(change, 'a part before it has not ended') end
  end
  if change.to == 'sending' then begin(draft, part, change, token) else finish(part, change) end
  draft.changed = true
end

local function draftOf(delivery)
  return { delivery = delivery, parts = deliveries.parts(delivery), changed = false }
end

local function write(draft)
  if not draft.changed then return end
  local delivery = draft.delivery
  if draft.split then
    for n = 0, delivery.parts - 1 do call('HDEL', key.delivery(delivery.id), 's' .. n, 'c' .. n) end
    delivery.parts = #draft.split
    deliveries.put(delivery)
    deliveries.addParts(delivery, draft.split)
  end
  for n, part in ipairs(draft.parts) do deliveries.putPart(delivery, n - 1, part) end
  deliveries.settle(delivery)
end

local function record(lease, changes)
  -- A change ends at most one delivery, so only this many can become the head on the way.
  local drafts, places = {}, {}
  for n, id in ipairs(deliveries.undone(lease.lane, #changes + 1)) do
    drafts[n] = draftOf(deliveries.get(id))
    places[id] = n
  end
  local function blocked(place)
    for n = 1, place - 1 do
      if deliveries.blocks(drafts[n].delivery, drafts[n].parts) then return true end
    end
    return false
  end
  for _, change in ipairs(changes) do
    local place = places[change.delivery]
    local draft = place and drafts[place]
    if not draft then
      local finished = deliveries.get(change.delivery)
      if not finished or finished.lane ~= lease.lane then refused(change, 'it is not in the lane ' .. lease.lane) end
      draft = draftOf(finished)
    end
    local part = draft.parts[change.part + 1]
    if not (part and isRepeat(part, change, lease.token)) then
      if not place or blocked(place) then refused(change, 'it is not the head of its conversation') end
      apply(draft, change, lease.token)
    end
  end
  for _, draft in ipairs(drafts) do write(draft) end
end
`;
