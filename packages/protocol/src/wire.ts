// The constants that a client needs. Apart from the schemas, so that the web page does not carry these along.

/** Where the gateway's port takes the WebSocket. */
export const controlPath = "/ws";

/** The protocol versions that this build speaks. */
export const protocolRange = { min: 1, max: 1 } as const;

/** Longest text of one message of the chat, in UTF-16 units. */
export const chatTextChars = 200_000;
