// Translates errors into the OpenAI API's error bodies and statuses. For a bug the client gets only a
// reference into the log (I8).
import { TooLarge, Unauthorized } from "@parley/control";
import { isFault, type Fault, type Ids, type Log } from "@parley/protocol";

type Status = 400 | 401 | 403 | 404 | 409 | 413 | 429 | 500 | 503;

const statuses: { readonly [code in Fault["code"]]: readonly [Status, string] } = {
  invalid: [400, "invalid_request_error"],
  unsupported: [400, "invalid_request_error"],
  denied: [403, "permission_error"],
  missing: [404, "invalid_request_error"],
  conflict: [409, "invalid_request_error"],
  rate_limited: [429, "rate_limit_error"],
  unavailable: [503, "server_error"],
  ambiguous: [503, "server_error"],
  aborted: [503, "server_error"],
};

/** Returns the API's error; a reference into the log stands for a bug. */
export function errorBody(
  error: unknown,
  { ids, log }: { readonly ids: Ids; readonly log: Log },
): { readonly status: Status; readonly body: object; readonly retryAfterMs?: number | undefined } {
  const told = (status: Status, type: string, code: string, message: string) => ({
    status,
    body: { error: { message, type, param: null, code } },
  });
  if (error instanceof Unauthorized)
    return told(401, "authentication_error", "invalid_api_key", error.message);
  if (error instanceof TooLarge) return told(413, "invalid_request_error", "too_large", error.message);
  if (isFault(error)) {
    const [status, type] = statuses[error.code];
    return { ...told(status, type, error.code, error.message), retryAfterMs: error.retryAfterMs };
  }
  const reference = ids.uuid().slice(0, 8);
  log.error({ error, reference }, "a chat completion failed");
  return told(
    500,
    "server_error",
    "internal",
    `something went wrong inside the gateway; its log has more under ${reference}`,
  );
}
