// Turns durable deliveries into platform messages, each sent once. This package cannot see the agent.
export { accountRateLimits } from "./account-rate-limits.ts";
export { pressedValue, withShortValues, type ButtonPlace, type Pressed } from "./button-values.ts";
export { causeRows } from "./cause-rows.ts";
export { deliverer } from "./deliver.ts";
export { escaped } from "./degrade.ts";
export { dropAnswers, type DropAnswers } from "./drop-answers.ts";
export { noticeDelivery, textDelivery } from "./notice.ts";
export { unsentParts } from "./opened-thread.ts";
export { ownerNotices } from "./owner-notices.ts";
export { personNotices } from "./person-notices.ts";
export type { RateLimit } from "./rate-limit.ts";
export { channelRender, previewText } from "./render.ts";
export { unreachableChats, type UnreachableChats } from "./unreachable-chats.ts";
