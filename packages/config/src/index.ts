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
export { parseDocument } from "./file/document.ts";
export { editConfig, type ConfigChange } from "./file/edit.ts";
export { configJsonSchema, configSchemaAt } from "./json-schema.ts";
export { fixOfKnownAgentKey } from "./validate/known-elsewhere-agents.ts";
export { fixOfKnownElsewhere } from "./validate/known-elsewhere.ts";
export { withoutKeys } from "./credentials.ts";
export { fileFault } from "./file/file-fault.ts";
export { loadBlocks } from "./load-blocks.ts";
export { loadConfig, type LoadConfigOptions, type LoadedConfig } from "./load.ts";
export type { MemorySearchConfig } from "./memory.ts";
export { rewriteMigrated, type Rewritten } from "./file/migrate.ts";
export { ConfigFault, describeProblem, formatPath, type ConfigProblem } from "./problem.ts";
export { listenTrouble } from "./check/machine.ts";
export { nearestWord } from "./validate/nearest.ts";
export { parseConfigPath } from "./path.ts";
export { redact, secretValues } from "./redact.ts";
export { isSecretPath } from "./references.ts";
export { isSecret, secret, type Secret } from "./secret.ts";
export type * from "./mcp.ts";
export type * from "./tools.ts";
export { tokenWeakness } from "./check/weak-token.ts";
export { folderTrouble } from "./check/usable-folder.ts";
export { clockTrouble } from "./check/clock-trouble.ts";
export { listenerAt } from "./listener.ts";
export { discordDefaults, telegramDefaults } from "./schema/channels.ts";
export { textFile } from "./file/read-text.ts";
export { makeFolder, openToAppend } from "./file/owned.ts";
export { replaceFile } from "./file/write.ts";
export { gatewayTokenIn, newToken, sameToken } from "./gateway-token.ts";
