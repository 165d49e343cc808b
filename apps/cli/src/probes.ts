// Tries a credential with one harmless call: a bot's token with "who am I", a model with one small question
// through the gateway's own code. What goes wrong is told without the credential, also where a platform has
// it in its addresses.
import { discordDefaults, telegramDefaults, withoutKeys, type Env } from "@parley/config";
import { systemClock, type MethodResult } from "@parley/protocol";
import { connectControl } from "./control-client.ts";
import { CommandFailure } from "./exit.ts";
import { gatewayProgram } from "./gateway-program.ts";
import { onceWire } from "./once-wire.ts";

export interface Probe {
  readonly ok: boolean;
  /** Who it is, or why not. */
  readonly words: string;
  /** Absent when it works. */
  readonly fix?: string;
  /** Of a Discord bot: its application, for the link that invites it. */
  readonly id?: string;
}

const answerWithinMs = 15_000;

export async function probeTelegram(
  token: string,
  apiRoot: string = telegramDefaults.apiRoot,
): Promise<Probe> {
  const answer = await ask(`${apiRoot.replace(/\/+$/, "")}/bot${token}/getMe`, {}, token);
  if ("trouble" in answer)
    return {
      ok: false,
      words: withoutKeys(`Telegram at ${apiRoot}: ${answer.trouble}`),
      fix: "Check the network, or channels.telegram.apiRoot",
    };
  const { ok, result, description } = answer.body as {
    ok?: boolean;
    result?: { id?: number; username?: string };
    description?: string;
  };
  if (ok === true && result?.username !== undefined)
    return { ok: true, words: `@${result.username}`, id: String(result.id) };
  return {
    ok: false,
    words: `Telegram refuses the token: ${description ?? `HTTP ${answer.status}`}`,
    fix: "Copy it again from @BotFather (/mybots, API Token)",
  };
}

export async function probeDiscord(token: string, apiRoot: string = discordDefaults.apiRoot): Promise<Probe> {
  const answer = await ask(
    `${apiRoot.replace(/\/+$/, "")}/v10/users/@me`,
    { authorization: `Bot ${token}` },
    token,
  );
  if ("trouble" in answer)
    return {
      ok: false,
      words: withoutKeys(`Discord at ${apiRoot}: ${answer.trouble}`),
      fix: "Check the network, or channels.discord.apiRoot",
    };
  const { id, username, message } = answer.body as { id?: string; username?: string; message?: string };
  if (answer.status === 200 && id !== undefined) return { ok: true, words: username ?? id, id };
  return {
    ok: false,
    words: `Discord refuses the token: ${message ?? `HTTP ${answer.status}`}`,
    fix: "Reset and copy it at https://discord.com/developers/applications (Bot, Token)",
  };
}

/** One small real call with the config that `env` leads to; nothing of the state folder is opened. */
export async function probeModel(env: Env, id?: string): Promise<Probe> {
  const wire = onceWire(gatewayProgram, env);
  try {
    const client = await connectControl({ wire });
    const tested = await client.request("models.test", id === undefined ? {} : { id });
    if (tested.ok)
      return {
        ok: true,
        words: `${tested.id} answered in ${tested.totalMs} ms${shortcomings(tested)}`,
      };
    const status = tested.error?.status === undefined ? "" : ` (HTTP ${tested.error.status})`;
    return {
      ok: false,
      words: `${tested.id}: ${tested.error?.message ?? "no answer"}${status}`,
      fix: modelFix(tested.error?.status),
    };
  } catch (error) {
    if (error instanceof CommandFailure)
      return { ok: false, words: error.message, fix: "Mend what the message names" };
    throw error;
  } finally {
    wire.close();
    await wire.closed;
  }
}

function shortcomings({ usesTools, toolCalling, roundTrip, thinking }: MethodResult<"models.test">): string {
  return [
    ...(usesTools && !(toolCalling && roundTrip === true) ? [", but it does not work with tools"] : []),
    ...(thinking.works ? [] : [`, but it refuses to think at the level ${thinking.level}`]),
  ].join("");
}

function modelFix(status: number | undefined): string {
  if (status === 401 || status === 403) return "Check the key at the provider";
  if (status === 404) return "Check the model's id and the provider's baseUrl";
  return status === 429
    ? "Check the account's limits at the provider"
    : "Check the network and the provider's baseUrl";
}

type Answer = { readonly status: number; readonly body: unknown } | { readonly trouble: string };

async function ask(
  url: string,
  headers: { readonly [name: string]: string },
  token: string,
): Promise<Answer> {
  const late = new AbortController();
  const timer = systemClock().after(answerWithinMs, () => late.abort());
  try {
    const response = await fetch(url, { headers, signal: late.signal, redirect: "error" });
    const text = await response.text();
    try {
      const body: unknown = JSON.parse(text);
      return { status: response.status, body: typeof body === "object" && body !== null ? body : {} };
    } catch {
      // A proxy, or another server altogether.
      return { status: response.status, body: {} };
    }
  } catch (error) {
    const { message, cause } = error as Error & { cause?: { code?: string; message?: string } };
    const why = late.signal.aborted
      ? `no answer within ${answerWithinMs / 1000} s`
      : (cause?.code ?? cause?.message ?? message);
    return { trouble: why.replaceAll(token, "[secret]") };
  } finally {
    timer.cancel();
  }
}
