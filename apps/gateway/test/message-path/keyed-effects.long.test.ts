// The process dies at every write of each keyed effect.
import { keyedEffects } from "./keyed-effects.ts";

keyedEffects(1);
