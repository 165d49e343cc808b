// Starts the page that makes this browser a device.
import { DevicePage } from "./device-page.ts";

customElements.define("parley-device", DevicePage);
