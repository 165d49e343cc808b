// What Discord's refusals mean: the table of failure-model section 2 stands here a second time, code by code,
// and then by status.
import { Fault, type FaultCode } from "@parley/protocol";
import { expect, test } from "vitest";
import {
  discordChatIsClosed,
  DiscordRefusal,
  faultOf,
  isRefusal,
  refusalCode,
  refusalCodes,
  refusalStatus,
} from "../../src/discord/refusals.ts";

const refused = (status: number, code: number): Fault =>
  faultOf(new DiscordRefusal("POST /channels/1/messages", status, code, "words"));

/** [code, the Fault, whether the chat is closed to us until something comes from it] */
const codes: readonly (readonly [number, FaultCode, boolean])[] = [
  [10003, "missing", true],
  [10004, "missing", true],
  [10008, "missing", false],
  [10013, "missing", true],
  [10014, "unsupported", false],
  [10015, "missing", false],
  [10062, "missing", false],
  [30003, "denied", false],
  [30010, "denied", false],
  [30034, "rate_limited", false],
  [40005, "invalid", false],
  [40060, "conflict", false],
  [50001, "denied", true],
  [50005, "denied", false],
  [50007, "denied", true],
  [50013, "denied", false],
  [50024, "unsupported", false],
  [50027, "missing", false],
  [50035, "invalid", false],
  [50083, "denied", false],
  [50278, "denied", true],
  [90001, "denied", false],
  [160002, "denied", false],
  [160005, "denied", false],
  [99999, "invalid", false],
];

test.each(codes)("code %i is Fault %s, whatever its status; the chat is closed: %s", (code, kind, closes) => {
  const fault = refused(400, code);
  expect([fault.code, discordChatIsClosed(fault), refusalCode(fault)]).toEqual([kind, closes, code]);
  expect(fault.retryAfterMs).toBe(code === 30034 ? 3_600_000 : undefined);
});

test.each<readonly [number, FaultCode]>([
  [400, "invalid"],
  [401, "unavailable"],
  [403, "denied"],
  [404, "missing"],
  [408, "ambiguous"],
  [409, "conflict"],
  [413, "invalid"],
  [499, "invalid"],
  [500, "ambiguous"],
  [503, "ambiguous"],
])("status %i without a code that is known is Fault %s", (status, kind) => {
  const fault = refused(status, 0);
  expect([fault.code, refusalStatus(fault), discordChatIsClosed(fault)]).toEqual([kind, status, false]);
});

test("the codes that are asked for by name are Discord's", () => {
  expect(refusalCodes).toEqual({
    unknownChannel: 10003,
    unknownGuild: 10004,
    unknownUser: 10013,
    unknownMessage: 10008,
    unknownWebhook: 10015,
    unknownInteraction: 10062,
    tooManyCommandsToday: 30034,
    alreadyAcknowledged: 40060,
    missingAccess: 50001,
    cannotWriteToUser: 50007,
    noMutualGuild: 50278,
    invalidWebhookToken: 50027,
    emptyMessage: 50006,
    invalidForm: 50035,
    tooLarge: 40005,
    voiceWithContent: 50159,
    voiceWithoutAudio: 50160,
    voiceWithoutFacts: 50161,
    voiceForbidden: 50173,
    replyWithoutHistory: 160002,
    hasThread: 160004,
  });
  expect(isRefusal(refused(400, 50001), "unknownChannel", "missingAccess")).toBe(true);
  expect(isRefusal(refused(400, 50013), "unknownChannel", "missingAccess")).toBe(false);
  expect(isRefusal(new Fault("denied", "not Discord's"), "missingAccess")).toBe(false);
});
