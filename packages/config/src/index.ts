// The config: where it lies, what it may say, what it says.
export { changedKeys, restartKeys } from "./changes.ts";
export { isLoopbackBind, listenAddress } from "./config.ts";
export type * from "./config.ts";
export { expandPath, hostEnv, placesIn, type Env, type Places } from "./home.ts";
export { configDesk, type ConfigDesk, type ConfigDeskOptions, type ConfigReading, type ConfigVerdict, type ConfigWritten } from "./desk.ts";
export { editConfig, type ConfigChange } from "./edit.ts";
export { configJsonSchema, configSchemaAt } from "./json-schema.ts";
export { loadConfig, type LoadConfigOptions, type LoadedConfig } from "./load.ts";
export { rewriteMigrated, type Rewritten } from "./migrate.ts";
export { ConfigFault, describeProblem, type ConfigProblem } from "./problem.ts";
export { nearestWord } from "./nearest.ts";
export { parseConfigPath } from "./path.ts";
export { redact, secretValues } from "./redact.ts";
export { isSecret, secret, type Secret } from "./secret.ts";
export type * from "./tools.ts";
