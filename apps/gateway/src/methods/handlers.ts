// Every method of the control plane with what answers it; the table in protocol says who may call it and with what.
import type { Handlers } from "../control/dispatch.ts";
import type { Core } from "../core.ts";
import { chatMethods } from "./chat.ts";
import { pairingMethods } from "./pairing.ts";
import { statusMethods, type StatusOptions } from "./status.ts";

export interface HandlerOptions extends StatusOptions {
  readonly core: Core;
}

export function handlers(options: HandlerOptions): Handlers {
  const { config, store, core, wired } = options;
  const status = statusMethods(options);
  const [agent] = config.agents.list;
  const chat = chatMethods({
    web: () => wired.web,
    scope: { agent: agent?.id ?? "main", ...config.session },
    inbox: store.inbox,
    events: store.events,
    turns: store.turns,
  });
  const pairing = pairingMethods(core.pairing, core.owners);
  return {
    health: status.health,
    status: status.status,
    "chat.send": chat.send,
    "chat.history": chat.history,
    "chat.abort": chat.abort,
    "pairing.list": pairing.list,
    "pairing.approve": pairing.approve,
  };
}
