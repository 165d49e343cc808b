// The two constants that a client needs to begin. Apart from the schemas, so that the web page does not carry these along.

/** Where the gateway's port takes the WebSocket. */
export const controlPath = "/ws";

/** The protocol versions that this build speaks. */
export const protocolRange = { min: 1, max: 1 } as const;
