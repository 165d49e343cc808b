// Checks the form of comments: no line wider than the formatter's, and no file of a src folder that opens
// with a question word, because such a sentence names no actor.
import type { SourceFile } from "./source.ts";
import type { Findings, Tree } from "./tree.ts";

/** The print width of oxfmt, which leaves comments alone. */
const mostColumns = 110;
const questionWord = /^[\s*]*(What|Who|Whose|Whether|Where|How)\b/;

function findingsOf(file: SourceFile): string[] {
  const wide = file.comments.flatMap(({ line, columns }) =>
    columns > mostColumns
      ? [`${file.path}:${line} has a comment line of ${columns} columns: wrap it at ${mostColumns}`]
      : [],
  );
  const word =
    file.area === "src" && file.opensWithComment
      ? questionWord.exec(file.comments[0]?.text ?? "")?.[1]
      : undefined;
  return word === undefined
    ? wide
    : [
        `${file.path} opens with "${word}": say in a sentence with an actor what the file does or owns`,
        ...wide,
      ];
}

export const commentFindings = (tree: Tree): Findings => tree.files.flatMap(findingsOf);
