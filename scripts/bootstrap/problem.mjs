// What set-up says to a person: what failed, and what to do about it. Anything else that is thrown is a bug.

export class SetupProblem extends Error {
  name = "SetupProblem";
}
