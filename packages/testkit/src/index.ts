// Counterparts for tests: fake platforms and model servers, time and chance under control. Never a dependency of the product.
export * from "./clock.ts";
export * from "./programs.ts";
export { type RedisServer, redisServer, type RedisServerOptions } from "./redis-server.ts";
export { defaultToken, fakeTelegram, type FakeTelegramOptions } from "./telegram/fake.ts";
export type { FaultRule, Trouble } from "./faults.ts";
export { refusalBody } from "./telegram/refusal.ts";
export type { MediaOptions, Person, SayOptions } from "./telegram/person.ts";
export type { ApiCall } from "./telegram/server.ts";
export { shownText } from "./telegram/text.ts";
export type { FakeBot, FakeTelegram, GroupOptions } from "./telegram/surface.ts";
export type { VisibleMessage } from "./telegram/visible.ts";
export { type FakeModels, fakeModels, type FakeModelsOptions, type ModelAnswer, toolCallStep } from "./models/fake-models.ts";
export { streamBytes } from "./models/play.ts";
export type { ModelCall, ModelWire } from "./models/request.ts";
export { modelStep, type ModelStep } from "./models/script.ts";
