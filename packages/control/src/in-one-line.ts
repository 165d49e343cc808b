// Tells a caller what is wrong with its parameters: each with its path, in one line.
import type { z } from "zod";

export function inOneLine({ issues }: z.ZodError): string {
  return issues
    .map((issue) => {
      const isEmpty = issue.code === "too_small" && issue.origin === "string" && issue.minimum === 1;
      const what = isEmpty ? "is empty" : `${issue.message.charAt(0).toLowerCase()}${issue.message.slice(1)}`;
      return issue.path.length === 0 ? what : `${issue.path.join(".")}: ${what}`;
    })
    .join("; ");
}
