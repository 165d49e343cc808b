// Scripts for the history of a node's boots. A boot that accepted a message or ended a turn has worked, so
// its later death was not caused by starting.
import { bootsKept, keptAfterEndMs } from "../../limits.ts";
import { script } from "../script.ts";

export const startBootScript = script(
  [],
  String.raw`
if call('HSETNX', key.boot(arg.boot), 'started', now) == 0 then return false end
call('PEXPIRE', key.boot(arg.boot), ${keptAfterEndMs})
call('LPUSH', key.boots(arg.node), arg.boot)
-- A node that never comes back, such as a container, leaves nothing behind.
call('PEXPIRE', key.boots(arg.node), ${keptAfterEndMs})
for _, old in ipairs(call('LRANGE', key.boots(arg.node), ${bootsKept}, -1)) do call('DEL', key.boot(old)) end
call('LTRIM', key.boots(arg.node), 0, ${bootsKept - 1})`,
);

export const stopBootScript = script(
  [],
  "if call('EXISTS', key.boot(arg.boot)) == 1 then call('HSET', key.boot(arg.boot), 'stopped', now) end",
);

/** Answers boot, start, stop and whether it worked, newest first. */
export const listBootsScript = script(
  [],
  String.raw`
local found = {}
for _, boot in ipairs(call('LRANGE', key.boots(arg.node), 0, -1)) do
  local started, stopped = unpack(call('HMGET', key.boot(boot), 'started', 'stopped'))
  if started then found[#found + 1] = { boot, tonumber(started), stopped and tonumber(stopped), call('ZSCORE', key.worked, boot) and 1 or 0 } end
end
return found`,
);
