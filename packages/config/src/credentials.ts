// Tells by its name and its form whether a variable or a header of the config holds a credential, which logs
// and answers must not show (I8).

const credentialNames =
  /(?:^|_)(?:API|AUTH|KEY|KEYS|TOKEN|TOKENS|SECRET|PASS|PASSWD|PASSWORD|PASSPHRASE|PWD|CREDENTIAL|CREDENTIALS|COOKIE|AUTHORIZATION|DSN|PAT)(?:_|$)|(?:KEY|TOKEN|SECRET|PASSWORD)$/i;
const credentialForms =
  /^(?:sk-|gh[pousr]_|github_pat_|xox[abprs]-|AKIA|ya29\.|eyJ[\w-]{10,}\.)|:\/\/[^/\s:@]+:[^/\s@]+@/;

/** A plain word is not hidden: every answer that says it would be cut. */
export function isCredential(name: string, value: string): boolean {
  const random = value.length >= 24 && /^[\w+=-]+$/.test(value) && /\d/.test(value) && /[A-Za-z]/.test(value);
  return (
    (credentialNames.test(name) && value.length >= 6 && !/^(?:true|false)$/i.test(value)) ||
    credentialForms.test(value) ||
    random
  );
}
