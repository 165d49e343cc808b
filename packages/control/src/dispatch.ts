// Answers a request: method, params, scope, idempotency, handler, error. Every method goes through here, so
// none can skip a check.
import { ConfigFault } from "@parley/config";
import type { z } from "zod";
import {
  Fault,
  isFault,
  methods,
  type Clock,
  type Ids,
  type Log,
  type MethodName,
  type MethodResult,
  type RequestFrame,
  type ResponseFrame,
  type WireError,
} from "@parley/protocol";
import type { OwnsSession, Refusals } from "@parley/access";
import { auditOf, isAudited, looking, type WriteAudit } from "./audited.ts";
import type { Caller } from "./auth/authenticate.ts";
import { inOneLine } from "./in-one-line.ts";
import type { RunOnce } from "./idempotency.ts";

/**
 * One handler per method. It throws Fault for what the caller should know; other errors are reported as
 * internal.
 */
export type Handlers = {
  readonly [M in MethodName]: (
    params: z.output<(typeof methods)[M]["params"]>,
    caller: Caller,
  ) => Promise<MethodResult<M>>;
};

export interface DispatchOptions {
  readonly ownsSession: OwnsSession;
  readonly handlers: Handlers;
  readonly once: RunOnce;
  /** Absent: nothing is recorded. */
  readonly audit?: WriteAudit | undefined;
  readonly refusals: Refusals;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** Never rejects. */
export type Dispatch = (request: RequestFrame, caller: Caller) => Promise<ResponseFrame>;

export function dispatcher({
  handlers,
  ownsSession,
  once,
  audit,
  refusals,
  clock,
  ids,
  log,
}: DispatchOptions): Dispatch {
  const goesOn = looking(clock);

  function refused(
    reason: "scope" | "other_session",
    method: string,
    { address, device }: Caller,
    message: string,
  ): Fault {
    refusals.note(reason, device ?? address, { address, device, method });
    return new Fault("denied", message);
  }

  async function run({ method, params: given }: RequestFrame, caller: Caller): Promise<unknown> {
    if (!isMethod(method)) throw new Fault("unsupported", `there is no method "${method}"`);
    const { scope, sessions, params: shape } = methods[method];
    if (scope === "device" ? caller.grants === undefined : !caller.scopes.includes(scope))
      throw refused(
        "scope",
        method,
        caller,
        `"${method}" needs the scope "${scope}", which this token does not have`,
      );
    const params = shape.safeParse(given ?? {});
    if (!params.success) throw new Fault("invalid", `params of "${method}": ${inOneLine(params.error)}`);
    if (sessions === "key" && !caller.scopes.includes("admin") && !ownsSession(caller, keyIn(params.data))) {
      const words = `"${method}" reaches your own sessions only, and this is none of them; for others' it needs the scope "admin"`;
      throw refused("other_session", method, caller, words);
    }
    // The table ties each handler to its params, which TypeScript cannot follow through a variable method.
    const handle = handlers[method] as (params: unknown, caller: Caller) => Promise<unknown>;
    const key = idempotencyKeyOf(params.data);
    if (key === null) return handle(params.data, caller);
    return once({ peer: caller.peer, method, key, params: params.data }, () => handle(params.data, caller));
  }

  function record({ method, params }: RequestFrame, caller: Caller, error?: unknown): void {
    if (audit === undefined || !isMethod(method) || !isAudited(method)) return;
    const made = auditOf(method, params, caller, error);
    if (!goesOn(made, caller)) audit(made);
  }

  return async (request, caller) => {
    try {
      const payload = await run(request, caller);
      record(request, caller);
      return { type: "res", id: request.id, ok: true, payload };
    } catch (error) {
      record(request, caller, error ?? new Error("no reason"));
      return {
        type: "res",
        id: request.id,
        ok: false,
        error: wireErrorOf(error, request.method, { ids, log }),
      };
    }
  };
}

/**
 * A Fault carries its own message; for a bug the caller gets a reference into the log and nothing else (I8).
 */
export function wireErrorOf(
  error: unknown,
  method: string,
  { ids, log }: { readonly ids: Ids; readonly log: Log },
): WireError {
  if (isFault(error)) {
    const { code, message, retryAfterMs } = error;
    const details = error instanceof ConfigFault ? { problems: error.problems } : undefined;
    return {
      code,
      message,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(details === undefined ? {} : { details }),
    };
  }
  const reference = ids.uuid().slice(0, 8);
  log.error({ error, method, reference }, "a method failed");
  return {
    code: "internal",
    message: `something went wrong inside the gateway; its log has more under ${reference}`,
  };
}

function isMethod(name: string): name is MethodName {
  return Object.hasOwn(methods, name);
}

/** Returns the empty key, which nobody owns, where the method has no such param. */
function keyIn(params: unknown): string {
  const key: unknown =
    typeof params === "object" && params !== null ? (params as { key?: unknown }).key : undefined;
  return typeof key === "string" ? key : "";
}

function idempotencyKeyOf(params: unknown): string | null {
  const key: unknown =
    typeof params === "object" && params !== null
      ? (params as { idempotencyKey?: unknown }).idempotencyKey
      : undefined;
  return typeof key === "string" ? key : null;
}
