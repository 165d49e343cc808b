// Starts the viewer of a canvas.
import { view } from "./viewer.ts";

const [stage, status] = [document.getElementById("stage"), document.getElementById("status")];
if (stage !== null && status !== null) void view(stage, status);
