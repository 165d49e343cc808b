// Counterparts for tests: fake platforms and model servers, time and chance under control. Never a dependency of the product.
export * from "./clock.ts";
export * from "./programs.ts";
export {
  defaultToken,
  type FakeBot,
  fakeTelegram,
  type FakeTelegram,
  type FakeTelegramOptions,
  type GroupOptions,
} from "./telegram/fake.ts";
export { type FaultRule, refusalBody, type Trouble } from "./telegram/faults.ts";
export type { MediaOptions, Person, SayOptions } from "./telegram/person.ts";
export type { ApiCall } from "./telegram/server.ts";
export type { VisibleMessage } from "./telegram/visible.ts";
