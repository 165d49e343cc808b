// Implements text messages: sendMessage, the edits, deletion, forwarding of what people see.
import { badRequest } from "../refusal.ts";
import { type Entity, shownText } from "../text.ts";
import { chatFor, type Message } from "../world.ts";
import { keyboardFields, messageFor, type MethodCall, type Methods, post } from "./call.ts";

const unchanged =
  "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message";

export const messageMethods: Methods = {
  sendMessage(call) {
    return post(call, { ...textFields(call, "text") });
  },
  editMessageText(call) {
    const message = editable(call);
    if (message.text === undefined) throw badRequest("there is no text in the message to edit");
    return changed(call, message, textFields(call, "text"));
  },
  editMessageCaption(call) {
    const message = editable(call);
    if (message.text !== undefined) throw badRequest("there is no caption in the message to edit");
    return changed(call, message, textFields(call, "caption"));
  },
  editMessageReplyMarkup(call) {
    return changed(call, editable(call), {});
  },
  deleteMessage({ state, bot, params }) {
    const chat = chatFor(state, bot, params["chat_id"]);
    const message = messageFor(chat, params["message_id"], "message to delete not found");
    // Bot API: own messages within 48 hours; incoming ones in private chats; in groups with the right, which
    // the fake's bots have.
    if (state.seconds() - message.date > 48 * 3600) throw badRequest("message can't be deleted");
    chat.messages.delete(message.message_id);
    return true;
  },
};

/** The text or caption of a call with its entities, as it will show. */
export function textFields(
  { params }: MethodCall,
  what: "text" | "caption",
): { readonly [field: string]: unknown } {
  if (params["parse_mode"] !== undefined) throw badRequest("unsupported parse_mode");
  const raw = params[what] as string | undefined;
  if (raw === undefined && what === "caption") return {};
  const entityField = what === "text" ? "entities" : "caption_entities";
  const { text, entities } = shownText(
    raw ?? "",
    (params[entityField] as readonly Entity[] | undefined) ?? [],
    what,
  );
  return { [what]: text, ...(entities.length === 0 ? {} : { [entityField]: entities }) };
}

function editable({ state, bot, params }: MethodCall): Message {
  const chat = chatFor(state, bot, params["chat_id"]);
  const message = messageFor(chat, params["message_id"], "message to edit not found");
  if (message.from?.id !== bot.me.id) throw badRequest("message can't be edited");
  return message;
}

/** Telegram drops the keyboard when an edit does not repeat it. */
function changed(
  { state, bot, params }: MethodCall,
  message: Message,
  content: { readonly [field: string]: unknown },
): Message {
  const chat = chatFor(state, bot, params["chat_id"]);
  const { reply_markup: _keyboard, edit_date: _date, ...kept } = message;
  const { entities: _entities, caption_entities: _captionEntities, ...unmarked } = kept;
  const shown = Object.keys(content).length === 0 ? kept : unmarked;
  const after = { ...shown, ...content, ...keyboardFields(params["reply_markup"]) };
  const { edit_date: _earlier, ...before } = message;
  if (sameJson(before, after)) throw badRequest(unchanged);
  const edited: Message = { ...after, edit_date: state.seconds() };
  chat.messages.set(message.message_id, edited);
  return edited;
}

function sameJson(a: object, b: object): boolean {
  const sorted = (value: object): string =>
    JSON.stringify(Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1)));
  return sorted(a) === sorted(b);
}
