// The history of a node's starts. A boot that a turn ended in has worked: whatever killed it, it was not its start.
import { bootsKept } from "../../limits.ts";
import { script } from "../script.ts";

export const startBootScript = script(
  [],
  String.raw`
if call('HSETNX', key.boot(arg.boot), 'started', now) == 0 then return false end
call('LPUSH', key.boots(arg.node), arg.boot)
for _, old in ipairs(call('LRANGE', key.boots(arg.node), ${bootsKept}, -1)) do call('DEL', key.boot(old)) end
call('LTRIM', key.boots(arg.node), 0, ${bootsKept - 1})`,
);

export const stopBootScript = script([], "call('HSET', key.boot(arg.boot), 'stopped', now)");

/** Answers boot, started, stopped and whether it worked, the newest first. */
export const listBootsScript = script(
  [],
  String.raw`
local found = {}
for n, boot in ipairs(call('LRANGE', key.boots(arg.node), 0, -1)) do
  local started, stopped = unpack(call('HMGET', key.boot(boot), 'started', 'stopped'))
  found[n] = { boot, tonumber(started), stopped and tonumber(stopped), call('ZSCORE', key.worked, boot) and 1 or 0 }
end
return found`,
);
