// Lanes: schedules the work on them, leases it to one holder at a time, and repeats what failed.
export { type Pace } from "./background-pace.ts";
export * from "./backoff.ts";
export { type LeaseHandle } from "./lease-handle.ts";
export { type Bus, redisBus, silentBus } from "./bus.ts";
export { bullNotifier } from "./bull-notifier.ts";
export * from "./lane-runner.ts";
export { type HintSource, localNotifier, type WorkNotifier } from "./work-notifier.ts";
export {
  peoplesPool,
  startPools,
  turnPools,
  type Pools,
  type PoolsOptions,
  type TurnLease,
} from "./pools.ts";
export { turnNames } from "./turn-names.ts";
export { untilStored } from "./until-stored.ts";
