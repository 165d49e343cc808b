// Discord's REST API as a list of answers: what is asked is kept, what is not known is refused as Discord
// does.
import { DiscordRefusal, faultOf } from "../../src/discord/refusals.ts";
import type { DiscordRest } from "../../src/discord/rest.ts";

export interface FakeRest extends DiscordRest {
  /** Each call as `METHOD route`, with its body where it has one. */
  readonly asked: string[];
  /** Answers by `METHOD route`; one that is an Error is thrown. */
  readonly answers: Map<string, unknown>;
}

export function fakeRest(answers: { readonly [call: string]: unknown } = {}): FakeRest {
  const asked: string[] = [];
  const known = new Map(Object.entries(answers));
  return {
    asked,
    answers: known,
    async call({ method, route, body }) {
      const call = `${method} ${route}`;
      asked.push(body === undefined ? call : `${call} ${JSON.stringify(body)}`);
      if (!known.has(call)) throw refused(404, 10003);
      const answer = known.get(call);
      if (answer instanceof Error) throw answer;
      return answer;
    },
    fetch: () => Promise.reject(new Error("no file is asked for here")),
    close: () => {},
  };
}

export const refused = (status: number, code = 0): Error =>
  faultOf(new DiscordRefusal("a call", status, code, "no"));
