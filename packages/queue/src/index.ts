// Lanes: who works on what, when, and how it is tried again.
export * from "./backoff.ts";
export { type Held } from "./held.ts";
export { type Bus, redisBus, type RedisBusOptions, silentBus } from "./bus.ts";
export { bullWaker, type BullWakerOptions } from "./bull-waker.ts";
export * from "./lane-runner.ts";
export { type HintSource, localWaker, type Wake, type Waker } from "./waker.ts";
export { startPools, turnPools, type Pools, type PoolsOptions } from "./pools.ts";
export { turnNames } from "./turn-names.ts";
export { untilStored } from "./until-stored.ts";
