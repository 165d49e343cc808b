// Says what a surface makes of a message: what it cannot do is refused with the alternative, and what it
// shows in another form is told, so that the agent knows what people see.
import type { ChannelFacts } from "@parley/agent";
import { Fault, plainReaction, type ActionKind, type Part } from "@parley/protocol";
import type { MessageRequest } from "@parley/tools";
import type { ReactionLevel } from "@parley/config";

/** Null: this process does not have the account, so the outbox decides. */
export type SurfaceFacts =
  | (Pick<ChannelFacts, "name" | "capabilities" | "actions" | "buttons"> & {
      readonly reactions: ReactionLevel;
    })
  | null;

type Acting = Exclude<MessageRequest["action"], "send" | "reply" | "poll">;

const kinds: { readonly [A in Acting]: ActionKind } = {
  edit: "edit",
  delete: "remove",
  react: "react",
  pin: "pin",
  unpin: "pin",
  thread: "createThread",
};

const alternatives: { readonly [A in Acting]: string } = {
  edit: "send a new message that corrects it",
  delete: "send a message that takes it back",
  react: "say it in a short message",
  pin: "ask people to pin it",
  unpin: "ask people to unpin it",
  thread: "send it here",
};

/**
 * Throws Fault: `unsupported` for an action or a reaction that the surface does not have, `invalid` for a
 * message that it cannot have.
 */
export function checkAction(
  { action, emoji = "", messageId }: Pick<MessageRequest, "action" | "emoji" | "messageId">,
  surface: SurfaceFacts,
): void {
  if (surface === null || action === "send" || action === "reply" || action === "poll") return;
  if (action === "react" && surface.reactions === "off")
    throw new Fault("unsupported", "reactions are switched off here (reactionLevel): say it in words");
  if (!surface.actions.includes(kinds[action]))
    throw new Fault(
      "unsupported",
      `${surface.name} cannot do this: ${action}. Instead ${alternatives[action]}.`,
    );
  const { capabilities } = surface;
  if (action === "react" && emoji !== "") plainReaction(emoji, capabilities, surface.name);
  if (messageId !== undefined && capabilities.numberedMessages === true && !/^[1-9]\d*$/.test(messageId))
    throw new Fault(
      "invalid",
      `${JSON.stringify(messageId)} is no message of ${surface.name}: its ids are numbers; take one that you were shown, or a handle`,
    );
}

/**
 * Throws Fault: `unsupported` for a poll that shall hide who voted where everybody sees it, `invalid` for one
 * that is open too long.
 */
export function withPollOf(request: MessageRequest, surface: SurfaceFacts): MessageRequest {
  const { poll } = request;
  if (poll === undefined) return request;
  const anonymous = surface?.capabilities.pollLimits?.anonymous ?? true;
  if (poll.anonymous === true && !anonymous)
    throw new Fault(
      "unsupported",
      `everybody sees who voted on ${surface?.name}: leave out anonymous, or ask in another way`,
    );
  const { mostHours = poll.hours ?? 0 } = surface?.capabilities.pollLimits ?? {};
  if (poll.hours !== undefined && poll.hours > mostHours)
    throw new Fault(
      "invalid",
      `a poll on ${surface?.name} is open for 1 to ${mostHours} hours, not ${poll.hours}`,
    );
  return { ...request, poll: { ...poll, anonymous: poll.anonymous ?? anonymous } };
}

/** What people see in another form. Throws Fault("unsupported") for buttons that the config forbids. */
export function degradations(parts: readonly Part[], surface: SurfaceFacts): readonly string[] {
  if (surface === null) return [];
  const { name, capabilities, buttons } = surface;
  const all = parts.flatMap((part) => (part.kind === "text" ? (part.buttons ?? []).flat() : []));
  if (all.length > 0 && typeof buttons === "object")
    throw new Fault(
      "unsupported",
      `buttons are switched off here (${buttons.enableWith}): list the choices in the text`,
    );
  const notes: string[] = [];
  const isMenu = all.some(({ choices }) => choices !== undefined);
  const isForm = all.some(({ form }) => form !== undefined);
  if (all.length > 0 && !capabilities.inlineButtons)
    notes.push(`${name} has no buttons, so people see numbered lines`);
  else {
    if (isMenu && !capabilities.menus) notes.push(`${name} has no menus, so each choice is a button`);
    if (isForm && !capabilities.forms)
      notes.push(`${name} has no forms, so people are asked to write the fields`);
  }
  for (const part of parts) notes.push(...partNotes(part, surface));
  return notes;
}

function partNotes(part: Part, { name, capabilities }: NonNullable<SurfaceFacts>): readonly string[] {
  const { polls, pollLimits, media, voice, uploadBytes, uploadBytesAtMost = uploadBytes } = capabilities;
  if (part.kind === "poll") {
    const { length } = part.options;
    const fits =
      pollLimits === undefined || (length >= pollLimits.fewestOptions && length <= pollLimits.mostOptions);
    if (!polls || !fits) {
      const closes = part.hours === undefined ? "" : ", and nothing closes it";
      return [`${name} has no poll of this kind, so people see numbered lines${closes}`];
    }
    return pollLimits?.anonymous === false ? [`on ${name} everybody sees who voted`] : [];
  }
  const files = part.kind === "media" ? part.files : part.kind === "voice" ? [part.file] : [];
  if (files.length === 0) return [];
  if (!media) return [`${name} takes no files, so people see their names`];
  const large = files.filter(({ bytes }) => bytes > uploadBytesAtMost || bytes === 0);
  return [
    ...(part.kind === "voice" && !voice ? [`${name} has no voice notes, so it is an audio file`] : []),
    ...large.map(
      (file) =>
        `${file.name} has ${file.bytes} bytes, which ${name} does not take: people see a line about it`,
    ),
  ];
}
