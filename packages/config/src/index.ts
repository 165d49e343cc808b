// The config: where it lies, what it may say, what it says.
export { changedKeys, restartKeys } from "./changes.ts";
export { isLoopbackBind, listenAddress } from "./config.ts";
export type * from "./agent-config.ts";
export type * from "./channel-config.ts";
export type * from "./config.ts";
export { expandPath, hostEnv, placesIn, type Env, type Places } from "./home.ts";
export {
  configEditor,
  type ConfigEditor,
  type ConfigEditorOptions,
  type ConfigReading,
  type ConfigVerdict,
  type ConfigWritten,
} from "./config-editor.ts";
export { parseDocument } from "./document.ts";
export { editConfig, type ConfigChange } from "./edit.ts";
export { configJsonSchema, configSchemaAt } from "./json-schema.ts";
export { fixOfKnownAgentKey } from "./known-elsewhere-agents.ts";
export { fixOfKnownElsewhere } from "./known-elsewhere.ts";
export { fileFault } from "./file-fault.ts";
export { loadBlocks } from "./load-blocks.ts";
export { loadConfig, type LoadConfigOptions, type LoadedConfig } from "./load.ts";
export type { MemorySearchConfig } from "./memory.ts";
export { rewriteMigrated, type Rewritten } from "./migrate.ts";
export { ConfigFault, describeProblem, formatPath, type ConfigProblem } from "./problem.ts";
export { listenTrouble } from "./check-machine.ts";
export { nearestWord } from "./nearest.ts";
export { parseConfigPath } from "./path.ts";
export { redact, secretValues } from "./redact.ts";
export { isSecretPath } from "./references.ts";
export { isSecret, secret, type Secret } from "./secret.ts";
export type * from "./mcp.ts";
export type * from "./tools.ts";
export { tokenWeakness } from "./weak-token.ts";
export { folderTrouble } from "./usable-folder.ts";
export { clockTrouble } from "./clock-trouble.ts";
export { listenerAt } from "./listener.ts";
export { discordDefaults, telegramDefaults } from "./schema/channels.ts";
export { replaceFile } from "./write.ts";
export { gatewayTokenIn, newToken, sameToken } from "./gateway-token.ts";
