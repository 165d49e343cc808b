// Counterparts for tests: fake platforms and model servers, time and chance under control. Never a dependency
// of the product.
export * from "./clock.ts";
export { plantedBugs, type PlantedBug } from "./planted-bugs.ts";
export * from "./programs.ts";
export { type RedisServer, redisServer } from "./redis-server.ts";
export { defaultToken, fakeTelegram } from "./telegram/fake.ts";
export type { Trouble } from "./faults.ts";
export { refusalBody } from "./telegram/refusal.ts";
export type { ApiCall } from "./telegram/server.ts";
export { shownText } from "./telegram/text.ts";
export type { FakeTelegram } from "./telegram/surface.ts";
export type { VisibleMessage } from "./telegram/visible.ts";
export { type FakeModels, fakeModels, type ModelAnswer, toolCallStep } from "./models/fake-models.ts";
export { streamBytes } from "./models/play.ts";
export type { ModelCall, ModelWire } from "./models/request.ts";
export { modelStep, type ModelStep } from "./models/script.ts";
export { defaultDiscordToken, fakeDiscord, type FakeDiscordOptions } from "./discord/fake.ts";
export type { DiscordPerson } from "./discord/person.ts";
export type { DiscordCall } from "./discord/rest/call.ts";
export { discordLimited } from "./discord/rest/limits.ts";
export { discordRefusal } from "./discord/rest/refusal.ts";
export type { FakeDiscord, FakeDiscordBot } from "./discord/surface.ts";
export type { DiscordVisible } from "./discord/visible.ts";
export { answersWithTokens, innerMark, innerTags, proseWithTags, silences, wrappings } from "./inner-text.ts";
export { directMessage, groupMessage } from "./messages.ts";
