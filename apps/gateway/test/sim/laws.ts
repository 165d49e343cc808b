// All laws, over what a simulation left behind.
import { judgeReplies } from "./laws-of-replies.ts";
import { judgeRows } from "./laws-of-rows.ts";
import { judgeTurns } from "./laws-of-turns.ts";
import type { Evidence } from "./evidence.ts";

export function judge(evidence: Evidence): void {
  judgeRows(evidence);
  judgeReplies(evidence);
  judgeTurns(evidence);
}
