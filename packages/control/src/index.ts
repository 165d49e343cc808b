// Serves the control plane's port: HTTP pages, WebSocket, credentials and limits. This package cannot see
// turns.
export { originTrouble } from "./auth/allowed-hosts.ts";
export type { WriteAudit } from "./audited.ts";
export type { Caller } from "./auth/authenticate.ts";
export { Unauthorized, bearerToken, pathOf, type CallerOf } from "./auth/bearer.ts";
export type { KnownDevice } from "./auth/device-record.ts";
export { deviceStore, type Devices } from "./auth/devices.ts";
export type { Attempts, WrongCredential } from "./auth/login-attempts.ts";
export type { Remote, RemoteOf } from "./auth/remote-address.ts";
export { whileKnown, type WhileKnown } from "./auth/while-known.ts";
export { connectedClients, type Clients } from "./connected-clients.ts";
export { dispatcher, type Handlers } from "./dispatch.ts";
export { eventHub, type Hub } from "./event-hub.ts";
export type { ProgramRoutes } from "./http.ts";
export { readFrame } from "./parse-request.ts";
export { metricRegistry, type MetricRegistry, type Sample } from "./prometheus-text.ts";
export { TooLarge, readBody } from "./read-body.ts";
export { controlServer, type ApiCallers, type ControlServer, type ControlServerOptions } from "./server.ts";
