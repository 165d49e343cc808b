// The rehearsal's answers without a script. Every answer says that this is a rehearsal. It also keeps the
// product's two silent conventions, so that background turns stay quiet without a real model.

export const helpText = `(rehearsal) I am Parley's built-in rehearsal model. I need no key and no network, and I do not think: I follow a script.
Write commands, one a line:
!say TEXT · !stream PIECES MS TEXT · !repeat N TEXT · !big CHARS · !think TEXT · !wait MS
!tool NAME {json} · !bad-tool NAME RAW · !result · !history · !prompt-hash
!silent · !empty · !length · !fail KIND [MS] · !hang`;

const greeting = /^\W*(hi|hello|hey|hallo|moin|hola|salut|good (morning|evening|day)|\/start)\b/i;
const asksForHelp = /\b(help|what can you do|who are you|what are you)\b/i;

/** The answer to a message without commands. `turn` is 1 for the first message of a conversation. */
export function smallTalk(text: string, turn: number, images: number): string {
  const said = text.trim();
  // A background prompt names the token for "nothing to say", which the rehearsal returns.
  if (/\bHEARTBEAT_OK\b/.test(said)) return "HEARTBEAT_OK";
  if (/\b(reply|answer|respond)\b[^\n]*\bNO_REPLY\b/i.test(said)) return "NO_REPLY";
  if (/^Write the summary\b/m.test(said))
    return "(rehearsal) A rehearsal cannot summarise. What was said before is in the transcript only.";
  const seen = images === 0 ? "" : ` I see ${images === 1 ? "an image" : `${images} images`} with it.`;
  if (asksForHelp.test(said)) return helpText;
  if (greeting.test(said) || said === "") {
    return `(rehearsal) Hello! This gateway works, but no AI model is connected yet: I am its built-in rehearsal model.${seen} To talk to a real model, put a provider and its key into the configuration. Send !help to see what I can play for you.`;
  }
  const quoted = Array.from(said.replaceAll(/\s+/g, " "));
  const quote = quoted.length > 200 ? `${quoted.slice(0, 200).join("")}…` : quoted.join("");
  const first =
    turn === 1
      ? " I am Parley's built-in rehearsal model, so I can only repeat what you say; send !help for more."
      : "";
  return `(rehearsal) You wrote: “${quote}”${seen}${first}`;
}
