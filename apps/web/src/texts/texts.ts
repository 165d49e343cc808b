// Gives every part of the page its words. A language is one file beside this one.
import { en } from "./en.ts";

export const t = en;
