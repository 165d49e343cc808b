// The agent's hands: what a tool is, and each tool in a file of its own.
export * from "./tool.ts";
