// The vocabulary: pure, browser-safe, zod only.
export * from "./action.ts";
export * from "./address.ts";
export * from "./capabilities.ts";
export * from "./clock.ts";
export * from "./entry.ts";
export * from "./fault.ts";
export * from "./frames.ts";
export * from "./ids.ts";
export * from "./inbound.ts";
export * from "./json.ts";
export * from "./key-part.ts";
export * from "./log.ts";
export * from "./methods.ts";
export * from "./part.ts";
export * from "./session-key.ts";
export * from "./thinking.ts";
export * from "./usage.ts";
