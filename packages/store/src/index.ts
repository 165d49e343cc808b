// The durable core: its contract, and drivers that are loaded when they are chosen.
export * from "./store.ts";
