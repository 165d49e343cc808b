// Implements `devices.link` and `devices.unlock`: admits a browser, and lifts the pause after wrong
// credentials.
import type { MethodParams, MethodResult } from "@parley/protocol";
import type { Caller } from "@parley/control";
import { held } from "./devices.ts";
import type { DaemonPorts } from "../ports.ts";

export function loginMethods({ loginUrl, unlock }: Pick<DaemonPorts, "loginUrl" | "unlock">) {
  return {
    async "devices.unlock"(_params: MethodParams<"devices.unlock">): Promise<MethodResult<"devices.unlock">> {
      return { lifted: unlock() };
    },
    async "devices.link"(
      { scopes }: MethodParams<"devices.link">,
      caller: Caller,
    ): Promise<MethodResult<"devices.link">> {
      return { url: await loginUrl(held(scopes ?? caller.scopes, caller)) };
    },
  };
}
