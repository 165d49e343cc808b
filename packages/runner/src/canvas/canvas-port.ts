// Carries out the canvas tool's calls: a page becomes a version of its session's canvas, and people of the
// conversation are told where to see it, by one delivery whose id is made from turn and call.
import { sanitizeOutbound } from "@parley/agent";
import {
  accountKey,
  Fault,
  formatContent,
  parseConversationKey,
  type Button,
  type Content,
  type MediaFile,
  type Part,
} from "@parley/protocol";
import { isProgram } from "@parley/access";
import type { Canvases, ToolScope } from "@parley/tools";
import { isUnseen } from "../sessions/asked-rows.ts";
import type { Services } from "../turn-scope.ts";
import { canvasLink } from "./canvas-links.ts";
import { canvasId, canvasOf, hiding, pageOf, scripting, showing, type KeptCanvas } from "./canvas-store.ts";

export type CanvasNeeds = Pick<
  Services,
  "config" | "cells" | "inbox" | "mediaFolder" | "redaction" | "clock" | "ids"
>;

const mostScripts = 100;
const mostRows = 200;

export function canvasPort(services: CanvasNeeds): Canvases {
  const { config, cells, clock, ids, redaction } = services;

  const current = (scope: ToolScope): Promise<KeptCanvas | null> => canvasOf(cells, canvasId(scope.session));

  async function shownNow(scope: ToolScope) {
    const kept = await current(scope);
    const page = kept === null || !kept.canvas.shown ? null : await pageOf(cells, kept.canvas);
    if (kept === null || page === null) throw new Fault("missing", "no canvas is shown here: present one");
    return { kept, page };
  }

  function next(kept: KeptCanvas | null, scope: ToolScope, title: string | undefined) {
    return {
      v: 1 as const,
      id: canvasId(scope.session),
      session: scope.session,
      agent: scope.agent,
      title: sanitizeOutbound(title ?? kept?.canvas.title ?? "Canvas", redaction).trim() || "Canvas",
      version: (kept?.canvas.version ?? 0) + 1,
      shown: true,
      atMs: clock.now(),
    };
  }

  async function checkSeen({ turn, session, conversation }: ToolScope): Promise<void> {
    const rows = await services.inbox.find({ turn, limit: mostRows });
    if (isUnseen(session, rows) || isProgram(parseConversationKey(conversation)))
      throw new Fault("denied", "nobody reads this turn's conversation, so nobody could see a canvas");
  }

  return {
    unavailable: () => (config.canvas.enabled ? null : "canvas.enabled is false"),
    async present(scope, { title, html, draw }) {
      await checkSeen(scope);
      const kept = await current(scope);
      const canvas = next(kept, scope, title);
      const page = { html: sanitizeOutbound(html, redaction), scripts: [] };
      const address = parseConversationKey(scope.conversation);
      const base = address.channel === "web" ? "" : config.gateway.publicUrl;
      const picture = base === "" ? null : await draw(page.html);
      if (base === undefined && picture === null)
        throw new Fault(
          "unsupported",
          "nobody could see it here: there is no Chromium for a picture, and gateway.publicUrl is not set for a link",
        );
      const link = base === undefined ? null : canvasLink(ids, canvas.id, scope.conversation);
      const url =
        link === null ? null : `${base}${base === "" || base?.endsWith("/") ? "" : "/"}${link.path}`;
      const content: Content = { v: 1, kind: "reply", parts: partsOf(canvas.title, picture, url) };
      const delivery = {
        id: `canvas:${scope.turn}:${scope.callId}`,
        pool: accountKey(address),
        lane: scope.conversation,
        cause: scope.turn,
        parts: [{ content: formatContent(content) }],
      };
      const shownAs = [...(picture === null ? [] : ["a picture"]), ...(url === null ? [] : ["a link"])];
      const noLink = url === null ? " gateway.publicUrl is not set, so there is no link." : "";
      return {
        text: `Version ${canvas.version} is shown: ${shownAs.join(" and ")} goes out here by itself.${noLink}`,
        effects: {
          deliveries: [delivery],
          cells: [...showing(kept, canvas, page), ...(link === null ? [] : [link.cell])],
        },
      };
    },
    async update(scope, { title, html }) {
      const { kept } = await shownNow(scope);
      const canvas = next(kept, scope, title);
      const page = { html: sanitizeOutbound(html, redaction), scripts: [] };
      return {
        text: `Version ${canvas.version} is in its place; whoever has it open sees it.`,
        effects: { cells: showing(kept, canvas, page) },
      };
    },
    async hide(scope) {
      const { kept } = await shownNow(scope);
      return { text: "It is hidden.", effects: { cells: hiding(kept, clock.now()) } };
    },
    async shown(scope) {
      const { kept, page } = await shownNow(scope);
      return { title: kept.canvas.title, version: kept.canvas.version, ...page };
    },
    async scripted(scope, script) {
      const { kept, page } = await shownNow(scope);
      if (page.scripts.length >= mostScripts)
        throw new Fault("invalid", `${mostScripts} scripts ran in this page: update it with a new one`);
      return { cells: scripting(kept, page, sanitizeOutbound(script, redaction), clock.now()) };
    },
  };
}

function partsOf(title: string, picture: MediaFile | null, url: string | null): readonly Part[] {
  const open: readonly (readonly Button[])[] = url === null ? [] : [[{ label: "Open", url }]];
  const words: Part = {
    kind: "text",
    markdown: `🖼 **${title.replaceAll(/[*_`[\]\\]/g, "\\$&")}**`,
    buttons: open,
  };
  return picture === null ? [words] : [{ kind: "media", media: "image", files: [picture] }, words];
}
