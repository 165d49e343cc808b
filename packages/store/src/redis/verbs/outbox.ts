// Scripts of the outbox: one holder at a time per conversation, and only the account's leader where there is
// one.
import { cellsLua } from "../lua/cells.ts";
import { deliveriesLua } from "../lua/deliveries.ts";
import { lanesLua } from "../lua/lanes.ts";
import { recordLua } from "../lua/record.ts";
import { script } from "../script.ts";

const parts = [lanesLua, deliveriesLua, cellsLua];

/** Gives the lane back; it is due later when its head has something to send. */
const releaseLua = String.raw`
local function release(lane, afterMs)
  lanes.free(lane)
  lanes.schedule(lane, lane.pool, deliveries.hasWork(lane.name) and now + afterMs)
end`;

export const takeDeliveryBatchScript = script(
  parts,
  String.raw`
cells.checkTerm(arg.pool, arg.term)
local function handed(lane, ask)
  local shown = {}
  for n, id in ipairs(deliveries.undone(lane.name, arg.maxRows)) do shown[n] = deliveries.shown(id) end
  return { lane.name, lane.token, ask, shown }
end
local leased, ask = lanes.leased('o', arg)
if leased then return handed(leased, ask) end
while true do
  local lane = lanes.lease('o', arg)
  if not lane then return lanes.nextAt('o', arg.pool) end
  if deliveries.hasWork(lane.name) then return handed(lane, false) end
  lanes.free(lane)
  lanes.schedule(lane, lane.pool, false)
end`,
);

export const extendDeliveryBatchScript = script(
  parts,
  String.raw`
local lane = lanes.fenced('o', arg.lease)
cells.checkTerm(lane.pool, arg.lease.term)
lanes.renew(lane, arg.leaseMs)
return lanes.waiting('o', lane.name)`,
);

export const releaseDeliveryBatchScript = script(
  [...parts, releaseLua],
  "release(lanes.fenced('o', arg.lease), arg.afterMs)",
);

export const postScript = script(parts, "post(arg.deliveries)");

export const recordScript = script(
  [...parts, recordLua, releaseLua],
  String.raw`
local lane = lanes.fenced('o', arg.lease)
cells.checkTerm(lane.pool, arg.lease.term)
record(arg.lease, arg.changes)
if arg.releaseAfterMs then release(lane, arg.releaseAfterMs) end`,
);

/** One slice of a search, newest first, like that for rows. */
export const findDeliveriesScript = script(
  parts,
  String.raw`
local long = key.deliveries
if arg.cause then long = key.cause(arg.cause)
elseif arg.troubled then long = key.troubled
elseif arg.lane then long = key.laneDeliveries(arg.lane) end
local function undone()
  local ids = deliveries.undone(arg.lane, 0)
  table.sort(ids, function(a, b) return deliveries.get(a).seq > deliveries.get(b).seq end)
  return ids
end
-- Parts that are queued or under way belong to undone deliveries.
local short = arg.id and { arg.id } or (arg.lane and (arg.state == 'queued' or arg.state == 'sending') and undone()) or nil

local function fits(delivery)
  if arg.lane and delivery.lane ~= arg.lane then return false end
  if arg.cause and delivery.cause ~= arg.cause then return false end
  if arg.troubled and not call('ZSCORE', key.troubled, delivery.id) then return false end
  local state, receipt = not arg.state, not arg.receipt
  if state and receipt then return true end
  for _, part in ipairs(deliveries.parts(delivery)) do
    state = state or part.state == arg.state
    receipt = receipt or (part.receipt and string.find(part.receipt, arg.receipt, 1, true))
  end
  return state and receipt
end

local ids = short or call('ZREVRANGEBYSCORE', long, '(' .. arg.before, '-inf', 'LIMIT', 0, arg.scan)
local found, lowest = {}, false
for _, id in ipairs(ids) do
  local delivery = deliveries.get(id)
  if delivery then
    lowest = delivery.seq
    if fits(delivery) then found[#found + 1] = deliveries.shown(id) end
  end
  if #found == arg.limit then break end
end
local more = not short and (#ids == arg.scan or #found == arg.limit)
return { found, more and lowest }`,
);

export const dropScript = script(
  parts,
  String.raw`
local function drop(id)
  local delivery = deliveries.get(id)
  if not delivery or delivery.dropped then return 0 end
  if delivery.done then
    if call('ZREM', key.troubled, id) == 0 then return 0 end
    delivery.dropped, delivery.closed = true, true
    deliveries.put(delivery)
    return 1
  end
  deliveries.close(delivery, arg.reason)
  local lane = lanes.get('o', delivery.lane)
  if lane and not lane.holder then lanes.schedule(lane, lane.pool, deliveries.hasWork(lane.name) and (lane.at or now)) end
  return 1
end
local dropped = 0
for _, id in ipairs(arg.ids) do dropped = dropped + drop(id) end
return dropped`,
);

/** `kind` is i for sessions of the inbox, o for conversations of the outbox. */
export const listLanesScript = script([lanesLua], "return lanes.list(arg.kind, arg.pool, arg.limit)");
