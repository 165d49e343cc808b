// `parley why ID|TEXT`: the story of one message, as the gateway tells it.
import { document, line, type Console } from "../console.ts";
import { exitCodes, type ExitCode } from "../exit.ts";
import { withState } from "../with-gateway.ts";

export async function why(terminal: Console, query: string): Promise<ExitCode> {
  const story = await withState(terminal, (client) => client.request("why", { query }));
  if (terminal.json) document(terminal.out, story);
  else for (const words of story.words) line(terminal.out, words);
  return exitCodes.ok;
}
