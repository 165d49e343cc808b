// The door to every command of this repository: brings the pinned tools, then runs what was asked.
//   node scripts/dev.mjs install [--all] [--update]  set up: pnpm, Node where the host's is too old, dependencies (without --all what was
//                                              there before: those to run by, or all), the web app, the bundled programs
//   node scripts/dev.mjs exec <cmd> [args...]  set up, then run a command with the pinned tools on its PATH
//   node scripts/dev.mjs test [args...]        set up, then run every check and every test
// Plain old syntax and no imports on purpose: a Node that is too old must still be able to read this far and say so.

var hostMajor = Number(process.versions.node.split(".")[0]);
if (hostMajor < 18) {
  console.error(
    "[setup] Node " +
      process.versions.node +
      " (" +
      process.execPath +
      ") is too old. Install Node 18 or newer with npm (https://nodejs.org), then run this again; Node 24 itself is brought by the set-up.",
  );
  process.exit(1);
}
import("./bootstrap/main.mjs")
  .then(function (door) {
    return door.main(process.argv.slice(2));
  })
  .catch(function (error) {
    // A SetupProblem is written for people; anything else is a bug and shows its stack.
    console.error(error.name === "SetupProblem" ? "[setup] " + error.message : error);
    process.exit(1);
  });
