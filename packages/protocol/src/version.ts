// The version of this build, as package.json states it: told to clients, written into the prompt.
import manifest from "../../../package.json" with { type: "json" };

export const version: string = manifest.version;
