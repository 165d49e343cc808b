// Lua for cells: small versioned values with expiry. One counter gives all versions, so those of a key grow
// over deletion and expiry, and the version of leader:<pool> is a fencing term.

export const cellsLua = String.raw`
local cells = {}

-- Name, value, version and expiry; nil when the cell is absent or has expired.
function cells.get(name)
  local value, version, expires = unpack(call('HMGET', key.cell(name), 'v', 'n', 'x'))
  if not value or (expires and tonumber(expires) <= now) then return nil end
  return { name, value, tonumber(version), expires and tonumber(expires) }
end

function cells.version(name)
  local cell = cells.get(name)
  return cell and cell[3] or 0
end

function cells.expire(name, ttlMs)
  call('HSET', key.cell(name), 'x', now + ttlMs)
  call('ZADD', key.expiring, now + ttlMs, name)
end

function cells.put(name, value, ttlMs)
  local version = count('cell')
  call('HSET', key.cell(name), 'v', value, 'n', version)
  call('ZADD', key.cells, 0, name)
  if ttlMs then
    cells.expire(name, ttlMs)
  else
    call('HDEL', key.cell(name), 'x')
    call('ZREM', key.expiring, name)
  end
  return { name, value, version, ttlMs and now + ttlMs or false }
end

function cells.remove(name)
  call('DEL', key.cell(name))
  call('ZREM', key.cells, name)
  call('ZREM', key.expiring, name)
end

-- Refuses when a version is not as expected after the writes before it.
function cells.check(writes)
  local counted, versions = tonumber(call('HGET', key.counters, 'cell') or 0), {}
  for _, write in ipairs(writes) do
    local version = versions[write.key] or cells.version(write.key)
    if write.expect and write.expect ~= version then
      refuse('conflict', 'the cell ' .. write.key .. ' is not at version ' .. write.expect .. ' any more')
    end
    if write.value then counted = counted + 1 end
    versions[write.key] = write.value and counted or 0
  end
end

function cells.write(writes)
  for _, write in ipairs(writes) do
    if write.value then cells.put(write.key, write.value, write.ttlMs) else cells.remove(write.key) end
  end
end

-- Where an account has a leader, any other term is refused. An expired cell counts too: until a new leader
-- writes it, only the last leader's term is valid.
function cells.checkTerm(pool, term)
  local current = tonumber(call('HGET', key.cell('leader:' .. pool), 'n') or nil)
  if not current or current == term then return end
  refuse('conflict', 'the term ' .. (term or '(none)') .. ' does not lead ' .. pool .. ': its leader has term ' .. current)
end
`;
