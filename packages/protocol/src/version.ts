// The version of this build from package.json. Clients and the prompt show it.
import manifest from "../../../package.json" with { type: "json" };

export const version: string = manifest.version;
