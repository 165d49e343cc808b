// Reads a place in the config as a person writes it: `channels.telegram.allowFrom[0]`,
// `models.providers["my.host"]`. The inverse of `formatPath`.
import { Fault } from "@parley/protocol";
import type { ConfigPath } from "./problem.ts";

const step = /(?:^|\.)([^.[\]"]+)|\[(\d+)\]|(?:^|\.)?\[?("(?:[^"\\]|\\.)*")\]?/y;

/** Throws Fault("invalid") for what is no path. */
export function parseConfigPath(text: string): ConfigPath {
  const path: (string | number)[] = [];
  step.lastIndex = 0;
  while (step.lastIndex < text.length) {
    const at = step.lastIndex;
    const [, key, index, quoted] = step.exec(text) ?? [];
    if (key !== undefined) path.push(key);
    else if (index !== undefined) path.push(Number(index));
    else if (quoted !== undefined) path.push(JSON.parse(quoted) as string);
    else
      throw new Fault(
        "invalid",
        `"${text}" is no path: stuck at "${text.slice(at)}". Write it like channels.telegram.allowFrom[0]`,
      );
  }
  if (path.length === 0) throw new Fault("invalid", "the path is empty. Write it like gateway.port");
  return path;
}
