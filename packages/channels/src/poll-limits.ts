// Refuses a poll that a platform would not take, before anything is written. The renderer cuts polls to the
// same limits (delivery's degrade.ts), so this meets only polls that nothing can be made of.
import { Fault, type PollLimits, type RenderedPart } from "@parley/protocol";

/** Throws Fault: `unsupported` for an anonymous poll where votes are seen, `invalid` for one over a limit. */
export function checkPoll(
  { question, options, anonymous, hours = 1 }: Extract<RenderedPart, { kind: "poll" }>,
  limits: PollLimits | undefined,
  platform: string,
): void {
  if (limits === undefined) return;
  if (anonymous && !limits.anonymous)
    throw new Fault("unsupported", `polls on ${platform} show who voted: set anonymous to false`);
  const fits =
    question.length <= limits.questionChars &&
    options.length >= limits.fewestOptions &&
    options.length <= limits.mostOptions &&
    options.every((option) => option.length > 0 && option.length <= limits.optionChars);
  if (hours < 1 || hours > limits.mostHours)
    throw new Fault(
      "invalid",
      `a poll on ${platform} is open for 1 to ${limits.mostHours} hours, not ${hours}`,
    );
  if (fits) return;
  throw new Fault(
    "invalid",
    `a poll on ${platform} has at most ${limits.questionChars} characters of question and ` +
      `${limits.fewestOptions} to ${limits.mostOptions} options of ${limits.optionChars}`,
  );
}
