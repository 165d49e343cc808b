// Defines what every Bot API method of the fake receives, and the steps that sending methods share:
// destination, thread, reply, keyboard.
import type { Request, UploadedFile } from "../body.ts";
import type { Params } from "../params.ts";
import { badRequest } from "../refusal.ts";
import { type Bot, type Chat, chatFor, type Message, type World } from "../world.ts";

export interface MethodCall {
  readonly state: World;
  readonly bot: Bot;
  readonly params: Params;
  readonly files: Request["files"];
  /** Aborts when the client hangs up. */
  readonly signal: AbortSignal;
}

export type Method = (call: MethodCall) => unknown;
export type Methods = { readonly [name: string]: Method };

export function messageFor(chat: Chat, id: unknown, whatIfMissing: string): Message {
  const message = chat.messages.get(Number(id));
  if (message === undefined) throw badRequest(whatIfMissing);
  return message;
}

/** Appends a message of the bot after the checks that all sending methods share. */
export function post(
  { state, bot, params }: MethodCall,
  content: { readonly [field: string]: unknown },
): Message {
  const chat = chatFor(state, bot, params["chat_id"]);
  if (chat.muted === true) throw badRequest(`not enough rights to send text messages to the chat`);
  const thread = threadFields(chat, params["message_thread_id"]);
  return state.addMessage(chat, {
    from: bot.me,
    ...thread,
    ...replyFields(chat, params["reply_parameters"] as ReplyParameters | undefined),
    ...content,
    ...keyboardFields(params["reply_markup"]),
  });
}

interface ReplyParameters {
  readonly message_id: number;
  readonly allow_sending_without_reply?: boolean;
}

function replyFields(
  chat: Chat,
  reply: ReplyParameters | undefined,
): { readonly reply_to_message?: Message } {
  if (reply === undefined) return {};
  const quoted = chat.messages.get(reply.message_id);
  if (quoted !== undefined) return { reply_to_message: quoted };
  if (reply.allow_sending_without_reply === true) return {};
  throw badRequest("message to be replied not found");
}

/** General (topic 1) takes no thread id in sends: the real server answers "message thread not found". */
function threadFields(
  chat: Chat,
  threadId: unknown,
): { readonly message_thread_id?: number; readonly is_topic_message?: true } {
  if (threadId === undefined) return {};
  const id = Number(threadId);
  const topic = chat.topics.get(id);
  if (topic === undefined) throw badRequest("message thread not found");
  if (topic.deleted) throw badRequest("TOPIC_DELETED");
  if (topic.closed) throw badRequest("TOPIC_CLOSED");
  return { message_thread_id: id, is_topic_message: true };
}

export function keyboardFields(markup: unknown): Pick<Message, "reply_markup"> {
  const keyboard = markup as NonNullable<Message["reply_markup"]> | undefined;
  if (keyboard === undefined || (keyboard.inline_keyboard ?? []).length === 0) return {};
  for (const button of keyboard.inline_keyboard.flat()) {
    if (button.text === "")
      throw badRequest(
        "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard",
      );
    const bytes = new TextEncoder().encode(button.callback_data ?? "x").length;
    if (bytes < 1 || bytes > 64) throw badRequest("BUTTON_DATA_INVALID");
    if (button.url !== undefined && !URL.canParse(button.url)) {
      throw badRequest(
        `inline keyboard button URL '${button.url}' is invalid: Wrong port number specified in the URL`,
      );
    }
    if (button.url === undefined && button.callback_data === undefined)
      throw badRequest("BUTTON_TYPE_INVALID");
  }
  return { reply_markup: keyboard };
}

/** A file of the call: uploaded under `attach://<field>`, or one that the server already has. */
export function fileFor(call: MethodCall, reference: unknown): UploadedFile & { readonly id: string } {
  const { state, files } = call;
  const text = String(reference);
  const upload = text.startsWith("attach://") ? files.get(text.slice("attach://".length)) : undefined;
  if (upload !== undefined) {
    if (upload.bytes.length === 0) throw badRequest("file must be non-empty");
    return { ...upload, ...state.addFile(upload, "documents") };
  }
  const known = state.files.get(text);
  if (known === undefined) throw badRequest("wrong remote file identifier specified: Wrong string length");
  return known;
}
