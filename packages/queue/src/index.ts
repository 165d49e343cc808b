// Lanes: who works on what, when, and how it is tried again.
export * from "./backoff.ts";
export { type Held } from "./held.ts";
export * from "./lane-runner.ts";
