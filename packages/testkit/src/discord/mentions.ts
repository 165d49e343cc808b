// Computes the mentions of a message: those in its text, less what the sender's allowed_mentions leave out.
import type { APIMessage, APIUser } from "discord-api-types/v10";
import type { Channel } from "./model.ts";
import type { World } from "./world.ts";

export interface AllowedMentions {
  readonly parse?: readonly ("users" | "roles" | "everyone")[];
  readonly users?: readonly string[];
  readonly roles?: readonly string[];
  readonly replied_user?: boolean;
}

type Mentions = Pick<APIMessage, "mentions" | "mention_roles" | "mention_everyone">;

/** Mentions inside code are not mentions. */
const code = /```[\s\S]*?```|`[^`\n]*`/g;

export function mentionsIn(
  state: World,
  channel: Channel,
  content: string,
  allowed?: AllowedMentions | null,
  replied?: APIUser,
): Mentions {
  const text = content.replaceAll(code, "");
  const listed = (what: "users" | "roles", id: string): boolean =>
    !restricts(allowed) || allowed?.parse?.includes(what) === true || allowed?.[what]?.includes(id) === true;
  const ids = (pattern: RegExp): string[] => [
    ...new Set([...text.matchAll(pattern)].map((match) => match[1] ?? "")),
  ];
  const users = ids(/<@!?(\d+)>/g)
    .filter((id) => listed("users", id))
    .flatMap((id) => state.users.get(id) ?? []);
  const pingsReplied =
    replied !== undefined &&
    (allowed?.replied_user ?? !restricts(allowed)) &&
    !users.some((user) => user.id === replied.id);
  const everyone = /@(?:everyone|here)\b/.test(text);
  return {
    mentions: pingsReplied ? [...users, replied] : users,
    mention_roles: ids(/<@&(\d+)>/g).filter(
      (id) => channel.guild?.roles.has(id) === true && listed("roles", id),
    ),
    mention_everyone:
      everyone &&
      channel.guild !== undefined &&
      (!restricts(allowed) || allowed?.parse?.includes("everyone") === true),
  };
}

/** allowed_mentions given at all means: only these. */
function restricts(allowed: AllowedMentions | null | undefined): boolean {
  return allowed !== undefined && allowed !== null;
}
