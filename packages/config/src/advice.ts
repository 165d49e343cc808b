// What is no mistake and yet does not do what somebody may think it does: told at the start and by validate, and refuses nothing.
import type { Config } from "./config.ts";
import type { ConfigPath } from "./problem.ts";
import { finding, type Finding } from "./validate.ts";

export function advice(config: Config): readonly Finding[] {
  const { agents, messages, commands, approvals } = config;
  const later = "Nothing is to be done: a later version does it";
  return [
    ...(/^0\D?$/.test(agents.defaults.heartbeat.every)
      ? []
      : [finding(["agents", "defaults", "heartbeat", "every"], "heartbeats are explained in the prompt and not sent yet", later)]),
    ...(messages.tts.auto === "off"
      ? []
      : [finding(["messages", "tts", "auto"], "the agent is told that its replies are spoken, and they are not spoken yet", later)]),
    ...namedFindings(["commands", "ownerAllowFrom"], commands.ownerAllowFrom),
    ...namedFindings(["approvals", "exec", "approvers"], approvals.exec.approvers ?? []),
  ];
}

/** The platforms' own ids are numbers. */
function namedFindings(at: ConfigPath, ids: readonly string[]): Finding[] {
  return ids.flatMap((id, index) =>
    /^(?:telegram|discord):(?![1-9]\d*$)/.test(id)
      ? [finding([...at, index], `"${id}" is nobody: ids are numbers there`, "Use the numeric id; /whoami shows it")]
      : [],
  );
}
