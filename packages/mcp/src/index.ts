// Other people's tools by the Model Context Protocol: servers of the config, started when they are needed,
// with every tool pinned as an owner approved it.
export { toolName } from "./tool-name.ts";
export { mcpServers, noServers, type McpServers, type ServerView } from "./servers.ts";
export type { McpSettings, ServerSettings } from "./settings.ts";
export type { Waiting } from "./pins.ts";
