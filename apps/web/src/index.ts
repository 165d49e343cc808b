// The elements of the shell and the shared parts; pages come when somebody goes there.
import { Act } from "./parts/act.ts";
import { List } from "./parts/list.ts";
import { Menu } from "./parts/menu.ts";
import { Shell } from "./shell/console.ts";
import { Palette } from "./shell/palette.ts";

customElements.define("parley-act", Act);
customElements.define("parley-list", List);
customElements.define("parley-menu", Menu);
customElements.define("parley-palette", Palette);
customElements.define("parley-console", Shell);
