// Lets agents use paired devices within what people granted: calls with a deadline, and results that nobody
// takes for more than a stranger's words.
export { deviceCalls, type DeviceCalls } from "./device-calls.ts";
export { deviceStream, openPrefix, type DeviceCall } from "./call.ts";
export { pushCalls, type PushCalls } from "./push/push-calls.ts";
