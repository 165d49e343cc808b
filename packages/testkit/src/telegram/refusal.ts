// Refuses with the real server's codes, descriptions and parameters, word for word where they are known.

export interface ResponseParameters {
  readonly retry_after?: number;
  readonly migrate_to_chat_id?: number;
}

export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: number;
  readonly parameters: ResponseParameters | undefined;

  constructor(code: number, description: string, parameters?: ResponseParameters) {
    super(description);
    this.code = code;
    this.parameters = parameters;
  }
}

/** 400; the server puts "Bad Request: " before the reason. */
export function badRequest(reason: string, parameters?: ResponseParameters): Refusal {
  return new Refusal(400, `Bad Request: ${reason}`, parameters);
}

export function forbidden(reason: string): Refusal {
  return new Refusal(403, `Forbidden: ${reason}`);
}

export function conflict(reason: string): Refusal {
  return new Refusal(409, `Conflict: ${reason}`);
}

/** The body of a refusal as Telegram writes it: what an `answer` rule sends. */
export function refusalBody(
  code: number,
  description: string,
  parameters?: { readonly [name: string]: number },
): unknown {
  return { ok: false, error_code: code, description, ...(parameters === undefined ? {} : { parameters }) };
}
