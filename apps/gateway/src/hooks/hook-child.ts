// The process in which the handlers of one hook run: it has the variables that the hook was given and no
// other, cannot hold up the gateway, and may be killed at any moment. It is started anew when the module
// changed.
import { pathToFileURL } from "node:url";

export interface HookTask {
  readonly id: number;
  readonly path: string;
  readonly exportName: string;
  readonly event: {
    readonly type: string;
    readonly action: string;
    readonly sessionKey: string;
    readonly timestamp: Date;
    readonly context: { readonly [key: string]: unknown };
  };
}

export type HookReply =
  | {
      readonly id: number;
      readonly ok: true;
      readonly messages: readonly unknown[];
      readonly context: { readonly [key: string]: unknown };
      readonly returned: unknown;
    }
  | { readonly id: number; readonly ok: false; readonly message: string };

type Handler = (event: object) => unknown;

async function handlerOf(path: string, name: string): Promise<Handler> {
  const loaded = (await import(pathToFileURL(path).href)) as { readonly [name: string]: unknown };
  // What a module of the older kind exports stands below "default".
  const outer = loaded["default"] as { readonly [name: string]: unknown } | undefined;
  const found = [loaded[name], outer?.[name]].find((each) => typeof each === "function");
  if (found === undefined) throw new Error(`it exports no function "${name}"`);
  return found as Handler;
}

function reply(message: HookReply): void {
  try {
    process.send?.(message);
  } catch {
    // A handler left something that cannot be sent, such as a function: what it says as JSON is sent.
    process.send?.(JSON.parse(JSON.stringify(message)));
  }
}

process.on("disconnect", () => process.exit());
process.on("message", async ({ id, path, exportName, event }: HookTask) => {
  try {
    const handler = await handlerOf(path, exportName);
    const live = { ...event, messages: [] as unknown[] };
    const returned = await handler(live);
    reply({
      id,
      ok: true,
      messages: Array.isArray(live.messages) ? live.messages : [],
      context: live.context,
      returned: Array.isArray(returned) ? returned : undefined,
    });
  } catch (error) {
    reply({ id, ok: false, message: error instanceof Error ? error.message : String(error) });
  }
});
