// Other people's tools by the Model Context Protocol: servers of the config, started when they are needed,
// with every tool pinned as an owner approved it.
export { toolName } from "./tool-name.ts";
export { noServers } from "./no-servers.ts";
export { mcpServers, type McpServers } from "./servers.ts";
export type { ServerView } from "./server-view.ts";
export type { McpSettings, ServerSettings } from "./settings.ts";
export type { Waiting } from "./pins.ts";
