// The web chat's elements.
import { ChatPage } from "./view/chat-page.ts";
import { Composer } from "./view/composer.ts";
import { Login } from "./view/login.ts";
import { Messages } from "./view/messages.ts";

customElements.define("parley-login", Login);
customElements.define("parley-composer", Composer);
customElements.define("parley-messages", Messages);
customElements.define("parley-chat", ChatPage);
