// Lists the console's pages, in the order of their tabs. Each is loaded when somebody goes there.
import type { PageEntry } from "../shell/places.ts";
import { t } from "../texts/texts.ts";

export const pages: readonly PageEntry[] = [
  {
    path: "chat",
    place: "chat",
    title: t.places.chat,
    scope: "read",
    load: async () => (await import("./chat.ts")).Chat,
  },
  {
    path: "overview",
    place: "overview",
    title: t.overview.title,
    scope: "read",
    load: async () => (await import("./overview.ts")).Overview,
  },
  {
    path: "approvals",
    place: "approvals",
    title: t.approvals.title,
    scope: "read",
    load: async () => (await import("./approvals.ts")).Approvals,
  },
  {
    path: "activity",
    place: "activity",
    title: t.activity.title,
    scope: "read",
    load: async () => (await import("./activity.ts")).Activity,
  },
  {
    path: "sessions",
    place: "activity",
    title: t.sessions.title,
    scope: "read",
    load: async () => (await import("./sessions.ts")).Sessions,
  },
  {
    path: "outbox",
    place: "activity",
    title: t.outbox.title,
    scope: "read",
    load: async () => (await import("./outbox.ts")).Outbox,
  },
  {
    path: "dead",
    place: "activity",
    title: t.dead.title,
    scope: "read",
    load: async () => (await import("./dead.ts")).DeadLetters,
  },
  {
    path: "why",
    place: "activity",
    title: t.why.title,
    scope: "read",
    load: async () => (await import("./story.ts")).MessageStory,
  },
  {
    path: "schedules",
    place: "schedules",
    title: t.schedules.title,
    scope: "read",
    load: async () => (await import("./schedules.ts")).Schedules,
  },
  {
    path: "channels",
    place: "channels",
    title: t.channels.title,
    scope: "read",
    load: async () => (await import("./channels.ts")).Channels,
  },
];
