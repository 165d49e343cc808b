// Words between prompt and parser: what the model may answer instead of text. Prompt sections and the reply
// parser both take them from here.

export const silentToken = "NO_REPLY";
export const heartbeatToken = "HEARTBEAT_OK";
