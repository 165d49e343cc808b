// Implements /tts: whether the replies of this conversation are spoken. In a place that several people share
// only owners set it, because speaking may cost money.
import { speechField, speechModeOf, speechModes, type SpeechMode } from "@parley/runner";
import { type PastLaneCommand, plainly } from "../chat-command.ts";

const usage = "Usage: /tts off|always|inbound|tagged|default.";

const words: { readonly [mode in SpeechMode]: string } = {
  off: "Replies here are not spoken.",
  always: "Replies here are also spoken, as voice notes.",
  inbound: "Replies to voice messages are also spoken here, as voice notes.",
  tagged: "Replies here are also spoken where I choose so.",
};

export const tts: PastLaneCommand = {
  name: "tts",
  summary: "speak my replies: /tts off, always, inbound (to voice messages), tagged or default",
  place: "past-lane",
  suggests: async () => plainly([...speechModes, "default"]),
  async run({ args, owner, inbound, route: { session } }, { store: { sessions }, config, speech }) {
    const wanted = args.trim().toLowerCase();
    const voice = speech?.voice() ?? { unavailable: "nothing speaks here" };
    const mute = "unavailable" in voice ? `\nBut ${voice.unavailable}.` : "";
    if (wanted === "" || wanted === "status")
      return `${words[speechModeOf(await sessions.open(session), config)]}${mute}\n${usage}`;
    const mode = wanted === "on" ? "always" : speechModes.find((each) => each === wanted);
    if (mode === undefined && wanted !== "default") return usage;
    if (!owner && inbound.address.kind !== "dm") return "Only an owner may set that here.";
    const { fields } = await sessions.patch(session, { [speechField]: mode ?? null });
    return `${words[speechModeOf({ fields }, config)]} From the next message on.${mute}`;
  },
};
