// Constants that a client needs. They stand apart from the schemas, so that the web page does not bundle
// those.

/** WebSocket path on the gateway's port. */
export const controlPath = "/ws";

/** Protocol versions that this build speaks. */
export const protocolRange = { min: 1, max: 1 } as const;

/** Largest frame that a gateway takes. Fits a chat message of 200,000 characters, each escaped as \uXXXX. */
export const frameBytes = 2_097_152;

/** Longest text of one chat message, in UTF-16 units. */
export const chatTextChars = 200_000;
