// Carries out the message tool's calls: a call becomes one delivery whose id is made from turn and call, so
// that a repeat after a crash is the same delivery (I7). What goes to the turn's own conversation is a part
// of its answer, which /stop drops while it waits.
import {
  accountKey,
  Fault,
  formatContent,
  parseConversationKey,
  type Content,
  type OutboxAction,
  type Part,
  type Quoted,
} from "@parley/protocol";
import { withShortValues } from "@parley/delivery";
import type { CellWrite } from "@parley/store";
import type { Done, Messages, MessageRequest, ToolScope } from "@parley/tools";
import { channelFacts, reactionLevel } from "../prompt/channel-facts.ts";
import { isUnseen } from "../sessions/asked-rows.ts";
import { messageIdOf } from "../turn-rows.ts";
import type { Services } from "../turn-scope.ts";
import { fileType } from "./file-type.ts";
import { knownPlaces, spellingOf, type KnownPlace } from "./known-places.ts";
import { nextLookAtMs, openedPlaces, openedThread } from "./opened-threads.ts";
import { editOf, partsOf } from "./parts.ts";
import { messageId } from "./said-here.ts";
import { checkMayChange, deliveryNamed, namedTarget, threadNamed } from "./sent-messages.ts";
import { checkAction, degradations, withPollOf, type SurfaceFacts } from "./surface.ts";
import { mayCross, targetOf, type Target } from "./targets.ts";

type MessageServices = Pick<
  Services,
  "config" | "sessions" | "inbox" | "outbox" | "channel" | "reach" | "redaction" | "mediaFolder" | "clock"
>;

/** The rows of one turn. */
const mostRows = 200;

export function messagesPort(services: MessageServices): Messages {
  const { config, inbox, outbox, redaction, clock } = services;
  return {
    async keep(bytes, name) {
      const { mediaType, extension } = fileType(bytes, name);
      return {
        path: await services.mediaFolder.keep(bytes, extension),
        mediaType,
        bytes: bytes.length,
        name,
      };
    },
    async act(scope, request) {
      const { crossContext } = config.tools.message;
      const named = await deliveryNamed(outbox, request, scope, mayCross(scope, crossContext) === null);
      const needs = {
        crossContext,
        known: () => knownPlaces(services, scope.agent),
        opened: (id: string, known: readonly KnownPlace[]) =>
          openedPlaces(outbox, { id, agent: scope.agent }, known),
        reach: services.reach,
      };
      const opening = await threadNamed(outbox, request, scope, mayCross(scope, crossContext) === null);
      const target = await targetOf(opening?.lane ?? request.to ?? named?.lane, scope, needs);
      if (named !== null && named.lane !== target.conversation)
        throw new Fault("invalid", `that message is in ${spellingOf(parseConversationKey(named.lane))}`);
      if (target.here) await checkSeen(scope);
      const surface = surfaceOf(target);
      checkAction(request, surface);
      const id = messageId(scope, target.here && opening === null);
      const [posted] = request.action === "thread" ? await outbox.find({ id, limit: 1 }) : [];
      if (posted !== undefined) return openedThread(posted, clock.now());
      const asked = withPollOf(request, surface);
      const { content, cells, notes } = await contentOf(scope, asked, target, surface, id);
      const inside = opening === null ? {} : { inThreadOf: opening.id };
      const queued = done(scope, request, target, { id, content: { ...content, ...inside }, cells, notes });
      const untilMs = request.action === "thread" ? nextLookAtMs(clock.now(), clock.now()) : null;
      return untilMs === null ? queued : { ...queued, waitsFor: { ticket: `thread:${id}`, untilMs } };
    },
  };

  /** A turn that nobody sees answers a session, so "here" is no place. */
  async function checkSeen({ turn, session, conversation }: ToolScope): Promise<void> {
    const rows = await inbox.find({ turn, limit: mostRows });
    if (isUnseen(session, rows) || parseConversationKey(conversation).channel === "hook")
      throw new Fault("invalid", "nobody reads this session: say with `to` where it goes");
  }

  function surfaceOf({ address }: Target): SurfaceFacts {
    const channel = services.channel(accountKey(address));
    if (channel === null) return null;
    const reactions = reactionLevel(config, address, [{ name: "message" }]);
    return { ...channelFacts(config, address, channel), reactions };
  }

  async function contentOf(
    scope: ToolScope,
    request: MessageRequest,
    target: Target,
    surface: SurfaceFacts,
    id: string,
  ): Promise<{
    readonly content: Content;
    readonly cells: readonly CellWrite[];
    readonly notes: readonly string[];
  }> {
    const { action } = request;
    const short = (parts: readonly Part[]) => withShortValues(parts, { id, to: target.address });
    const acted = (what: OutboxAction, cells: readonly CellWrite[] = [], notes: readonly string[] = []) => ({
      content: { v: 1, kind: "action", action: what } as const,
      cells,
      notes,
    });
    const silent = request.silent === true ? { silent: true as const } : {};
    const isLoud = request.silent === true && surface !== null && !surface.capabilities.silent;
    const loud = isLoud ? [`${surface.name} has no silent messages`] : [];
    switch (action) {
      case "send":
      case "reply":
      case "poll": {
        if (action === "poll" && request.poll === undefined)
          throw new Fault("invalid", "a poll needs poll: {question, options}");
        const parts = partsOf(request, redaction);
        const notes = degradations(parts, surface);
        const quoted = await quotedBy(scope, request, target);
        const { parts: sent, cells } = short(parts);
        const content = {
          v: 1,
          kind: "reply",
          parts: sent,
          ...(quoted === undefined ? {} : { replyTo: quoted }),
          ...silent,
        };
        return { content: content as Content, cells, notes: [...notes, ...loud] };
      }
      case "edit": {
        const { markdown, buttons = [] } = editOf(request, redaction);
        const message = namedTarget(request);
        await checkMayChange(outbox, message, target.conversation, scope, action);
        const part: Part = { kind: "text", markdown, buttons };
        const notes = degradations([part], surface);
        const { parts, cells } = short([part]);
        const [shown] = parts;
        const rows = shown?.kind === "text" ? (shown.buttons ?? []) : [];
        return acted({ kind: "edit", target: message, markdown, buttons: rows }, cells, notes);
      }
      case "delete":
      case "pin":
      case "unpin": {
        const message = namedTarget(request);
        await checkMayChange(outbox, message, target.conversation, scope, action);
        if (action === "delete") return acted({ kind: "remove", target: message });
        return acted({ kind: "pin", target: message, pinned: action === "pin" });
      }
      case "react": {
        const { emoji } = request;
        if (emoji === undefined)
          throw new Fault("invalid", "a reaction needs emoji; an empty one takes yours back");
        if (!isReaction(emoji.trim(), target.address.channel))
          throw new Fault("invalid", `${JSON.stringify(emoji)} is no emoji: give one character, as 👍`);
        const message =
          request.handle === undefined && request.messageId === undefined
            ? namedTarget({ messageId: await answeredId(scope), handle: undefined })
            : namedTarget(request);
        return acted({ kind: "react", target: message, emoji: emoji.trim() === "" ? null : emoji.trim() });
      }
      case "thread": {
        const { title, tags } = request;
        if (title === undefined || title.trim() === "") throw new Fault("invalid", "a thread needs title");
        const isEmpty =
          (request.text ?? "") === "" && request.files.length === 0 && request.poll === undefined;
        const parts = isEmpty ? [] : partsOf(request, redaction);
        const notes = degradations(parts, surface);
        const { parts: inside, cells } = short(parts);
        const [name] = partsOf(
          { ...request, text: title, files: [], poll: undefined, buttons: undefined, voice: false },
          redaction,
        );
        const hung =
          request.handle === undefined && request.messageId === undefined
            ? {}
            : { target: namedTarget(request) };
        return acted(
          {
            kind: "createThread",
            title: name?.kind === "text" ? name.markdown : title,
            ...hung,
            ...(inside.length === 0 ? {} : { parts: inside }),
            ...(tags.length === 0 ? {} : { tags }),
            ...silent,
          },
          cells,
          [...notes, ...loud],
        );
      }
    }
  }

  async function quotedBy(
    scope: ToolScope,
    request: MessageRequest,
    { here }: Target,
  ): Promise<Quoted | undefined> {
    const { action, handle, messageId: quoted } = request;
    if (handle !== undefined) return { delivery: handle };
    if (quoted !== undefined) return quoted;
    if (action !== "reply") return undefined;
    if (!here) throw new Fault("invalid", "say which message is answered: give its handle or messageId");
    return answeredId(scope);
  }

  /** The newest message that the turn answers. */
  async function answeredId({ turn }: ToolScope): Promise<string | undefined> {
    const rows = await inbox.find({ turn, limit: mostRows });
    return rows.map(messageIdOf).find((found) => found !== null) ?? undefined;
  }
}

function done(
  scope: ToolScope,
  { action }: MessageRequest,
  { address, conversation, here }: Target,
  sent: {
    readonly id: string;
    readonly content: Content;
    readonly cells: readonly CellWrite[];
    readonly notes: readonly string[];
  },
): Done {
  const { id, content, cells, notes } = sent;
  const where = here ? "here" : `to ${spellingOf(address)}`;
  const lines = [
    `${action}: queued ${where}; it goes out by itself, in order. Do not repeat it.`,
    ...(action === "react" || action === "delete" ? [] : [`Handle: ${id}`]),
    ...(action === "thread" ? ["To write in the thread later, give this handle as `to`."] : []),
    ...notes.map((note) => `Note: ${note}.`),
  ];
  const delivery = {
    id,
    pool: accountKey(address),
    lane: conversation,
    cause: scope.turn,
    parts: [{ content: formatContent(content) }],
  };
  return { text: lines.join("\n"), effects: { deliveries: [delivery], cells } };
}

/** Servers of Discord have emoji of their own, by name. */
function isReaction(emoji: string, channel: string): boolean {
  if (emoji === "") return true;
  if (channel === "discord" && /^(?:<?a?:?\w+:\d+>?|:?\w{2,32}:?)$/.test(emoji)) return true;
  // ℹ is a letter and an emoji.
  const isPicture = /\p{Extended_Pictographic}|[\u{1F1E6}-\u{1F1FF}]|\u20E3/u.test(emoji);
  return isPicture && !/[[\p{L}--ℹ]\s]/v.test(emoji);
}
