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
    path: "why",
    place: "activity",
    title: t.why.title,
    scope: "read",
    load: async () => (await import("./story.ts")).MessageStory,
  },
];
