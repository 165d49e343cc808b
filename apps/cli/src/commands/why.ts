// `parley why ID|TEXT`: the story of one message, as the gateway tells it.
import { harmless, line, type Console } from "../console.ts";
import { exitCodes, type ExitCode } from "../exit.ts";
import { withState } from "../with-gateway.ts";

export async function why(terminal: Console, query: string): Promise<ExitCode> {
  const story = await withState(terminal, (client) => client.request("why", { query }));
  if (terminal.json) line(terminal.out, JSON.stringify(story));
  else for (const words of story.words) line(terminal.out, harmless(words));
  return exitCodes.ok;
}
