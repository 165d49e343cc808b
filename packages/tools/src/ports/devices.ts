// The port to computers and phones of people, as the tool `nodes` uses it.
import type { DeviceAbout, DeviceGrant, DeviceRequest } from "@parley/protocol";
import type { CallEffects, ToolResult, ToolScope } from "../tool.ts";

/** Computers and phones of people, on which an agent may do what they granted. */
export interface PairedDevices {
  /** False: there is none, so no prompt tells of them. */
  some(): boolean;
  list(): Promise<
    readonly {
      readonly id: string;
      readonly name: string;
      readonly grants: readonly DeviceGrant[];
      readonly connected: boolean;
      readonly lastSeenAtMs: number | null;
      /** What the device says of itself. */
      readonly about: DeviceAbout | null;
    }[]
  >;
  /** Throws Fault. `source`: whose words the text is, when it is not Parley's. */
  invoke(
    scope: ToolScope,
    what: DeviceRequest & { readonly node: string; readonly timeoutSeconds: number },
  ): Promise<
    Pick<ToolResult, "isError" | "waitsFor"> & {
      readonly text: string;
      readonly picture?: { readonly path: string; readonly mediaType: string };
      readonly source?: string;
      readonly cells?: CallEffects["cells"];
    }
  >;
}
