// Tells in stored documents the words of people and models from the names that hold the records together: a
// word that somebody wants forgotten may also be the name of a channel, a mode or a tool.

/** Fields that hold words of people and models, a single word too. */
const worded = new Set(
  "text content title label description question options answer note task prompt message summary words word thinking said say caption markdown html command query delta body quote heading nickname output stdout stderr finalText spoken plain raw line lines".split(
    " ",
  ),
);

/** Fields whose value is what somebody is called. */
const named = new Set("name sender senderName author username displayName".split(" "));

export const holdsWords = (field: string): boolean => worded.has(field);
export const holdsPersonName = (field: string): boolean => named.has(field);

/** Without a blank and in ASCII: what programs call things by, such as a scope, a mode or a session key. */
export const isOneToken = (value: string): boolean => /^[\x21-\x7e]*$/.test(value);

/** As the constants, keys and paths of records are written; few people are called so. */
export const isIdentifier = (value: string): boolean =>
  isOneToken(value) && (/^[a-z][\w.-]*$/.test(value) || /[:#/]/.test(value));
