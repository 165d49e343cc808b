// The process dies at every second write of each keyed effect; keyed-effects.long.test.ts takes every one.
import { keyedEffects } from "./keyed-effects.ts";

keyedEffects(2);
