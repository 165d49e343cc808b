// The reason why a page cannot be read, as the process throws it: a sentence that goes on after the page's
// host. The reader makes a Fault of it; the process itself does not load the protocol, which would cost each
// start a quarter of a second and 26 MB.
export class Unreadable extends Error {}
