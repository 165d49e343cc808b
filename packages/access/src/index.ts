// Decides who may speak, where, as whom, and which session they reach. This package sees no agent and no
// model.
export { accessPolicy } from "./access-policy.ts";
export {
  isPaced,
  ackOf,
  quotesOf,
  reactionsWanted,
  streamingOf,
  type ReactionNotifications,
} from "./account-settings.ts";
export { admission, type Activation, type Admit, type AdmitOptions } from "./admit.ts";
export { authorityOf, senderId, senderRules, speakersAt, type Speakers } from "./authority.ts";
export { messageLimits, overLimitWords, type MessageLimits } from "./message-limits.ts";
export { botLoops, type BotLoops } from "./bot-loop-guard.ts";
export {
  conversationBindings,
  linkedPeople,
  placeNow,
  type ConversationBindings,
  type PlaceOf,
  type HandOver,
} from "./conversation-bindings.ts";
export { firstBot, migratedChats, type MigratedChats } from "./migrated-chats.ts";
export { sessionOwnership, webAddress, webSender, type OwnsSession, type WebCaller } from "./own-session.ts";
export { owners, type Owners } from "./owners.ts";
export { pairingDecisions, pairingStore, type PairingDecisions } from "./pairing.ts";
export type { Place, PlaceRules } from "./place-rules.ts";
export { apiAddress, hookAddress, isProgram, programAccount, type ApiUser } from "./program-address.ts";
export { programSinks } from "./program-channel.ts";
export { mayReach, type MayReach } from "./reach.ts";
export { noRefusals, refusalLog, type RefusalReason, type Refusals } from "./refusal-log.ts";
export { router, type Route, type RouteInbound } from "./routing.ts";
