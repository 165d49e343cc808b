// Tells by its name and its form whether a variable or a header of the config holds a credential, which logs
// and answers must not show (I8).
import { mask } from "./secret.ts";

const credentialNames =
  /(?:^|_)(?:API|AUTH|KEY|KEYS|TOKEN|TOKENS|SECRET|PASS|PASSWD|PASSWORD|PASSPHRASE|PWD|CREDENTIAL|CREDENTIALS|COOKIE|AUTHORIZATION|DSN|PAT)(?:_|$)|(?:KEY|TOKEN|SECRET|PASSWORD)$/i;
const credentialForms =
  /^(?:sk-|gh[pousr]_|github_pat_|xox[abprs]-|AKIA|ya29\.|eyJ[\w-]{10,}\.)|:\/\/[^/\s:@]+:[^/\s@]+@/;

/** What tells by its form: a bot's token, keys by how they begin, a URL's password. */
const keyLike = new RegExp(
  [
    String.raw`\b\d{6,}:[\w-]{20,}`,
    String.raw`\b(?:sk|xox[abprs]|gh[pousr]|gsk|glpat|github_pat)[-_][\w-]{16,}`,
    String.raw`\bAIza[\w-]{16,}`,
    String.raw`(?<=\b[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:)[^/\s@]+(?=@)`,
  ].join("|"),
  "gi",
);

/** For a text that people wrote, where no place says what is secret. */
export function withoutKeys(text: string): string {
  return text.replaceAll(keyLike, mask);
}

/** A plain word is not hidden: every answer that says it would be cut. */
export function isCredential(name: string, value: string): boolean {
  const random = value.length >= 24 && /^[\w+=-]+$/.test(value) && /\d/.test(value) && /[A-Za-z]/.test(value);
  return (
    (credentialNames.test(name) && value.length >= 6 && !/^(?:true|false)$/i.test(value)) ||
    credentialForms.test(value) ||
    random
  );
}
