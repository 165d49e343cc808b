// Receives Telegram's webhook calls. The secret is compared before a byte of the body is read. It answers 200
// only after the update is durable (I1) and 503 otherwise, so that Telegram tries again.
import { createHash, timingSafeEqual } from "node:crypto";
import type { Update } from "grammy/types";
import { Fault } from "@parley/protocol";

export interface TelegramWebhook {
  /** Public HTTPS address of the handler. */
  readonly url: string;
  /**
   * 1 to 256 characters of A-Z a-z 0-9 _ - (Bot API, setWebhook). Required, because without it anybody could
   * forge updates.
   */
  readonly secret: string;
}

export type WebhookHandler = (
  headers: { readonly [name: string]: string | readonly string[] | undefined },
  body: AsyncIterable<Uint8Array>,
) => Promise<{ readonly status: 200 | 400 | 401 | 413 | 503 }>;

/** Far larger than any single update. */
const bodyBytes = 1024 * 1024;

/** Throws Fault("invalid") for a secret or an address that Telegram would not take. */
export function checkWebhook({ url, secret }: TelegramWebhook): void {
  if (!/^[A-Za-z0-9_-]{1,256}$/.test(secret))
    throw new Fault("invalid", "the webhook secret must be 1 to 256 of A-Z a-z 0-9 _ -: set webhook.secret");
  if (!URL.canParse(url))
    throw new Fault("invalid", `webhook.url "${url}" is not an address: write https://<host>/<path>`);
}

/** `accept` returns null while the channel does not receive. */
export function webhookHandler(
  secret: string,
  accept: () => ((updates: readonly Update[]) => Promise<void>) | null,
): WebhookHandler {
  const expected = digest(secret);
  return async (headers, body) => {
    const given = headers["x-telegram-bot-api-secret-token"];
    if (typeof given !== "string" || !timingSafeEqual(digest(given), expected)) return { status: 401 };
    const accepts = accept();
    if (accepts === null) return { status: 503 };
    const text = await readText(body);
    if (text === null) return { status: 413 };
    const update = parseUpdate(text);
    if (update === null) return { status: 400 };
    try {
      await accepts([update]);
      return { status: 200 };
    } catch {
      // The update is not durable. The store has logged why; Telegram keeps the update and repeats it.
      return { status: 503 };
    }
  };
}

/** Hashes give equal lengths for the comparison. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > bodyBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseUpdate(text: string): Update | null {
  try {
    const value = JSON.parse(text) as Update | null;
    return Number.isSafeInteger(value?.update_id) ? value : null;
  } catch {
    return null; // Not JSON: 400.
  }
}
