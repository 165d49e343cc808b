// A strict reader of the HTML that we write: throws at anything but the allowed tags, attributes and nesting;
// returns the text.
const attributes: { readonly [tag: string]: RegExp } = {
  a: /^ href="(?:https?:|mailto:)[^"<>\s]*" rel="noopener noreferrer nofollow" target="_blank"$/,
  div: /^ class="math"$/,
  span: /^ class="(?:spoiler|math)"$/,
  code: /^(?: class="language-[\w.+#-]+")?$/,
  ol: /^(?: start="\d+")?$/,
  th: /^(?: class="(?:left|right|center)")?$/,
  td: /^(?: class="(?:left|right|center)")?$/,
};
const plainTags = new Set(
  "p strong em s pre blockquote h1 h2 h3 h4 h5 h6 ul li table thead tbody tr".split(" "),
);
const allowedIn: { readonly [tag: string]: readonly string[] } = {
  tr: ["thead", "tbody"],
  th: ["tr"],
  td: ["tr"],
  thead: ["table"],
  tbody: ["table"],
  li: ["ul", "ol"],
};
const characters: { readonly [entity: string]: string } = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
};

export function textOfHtml(html: string): string {
  const open: string[] = [];
  let text = "";
  const piece = /<(\/?)([a-z][a-z0-9]*)([^<>]*)>|(&(?:amp|lt|gt|quot|#39);)|([^<>&]+)|([^])/g;
  for (const [all, slash, tag = "", rest = "", entity, run, wrong] of html.matchAll(piece)) {
    if (wrong !== undefined) throw new Error(`"${wrong}" is not escaped in ${html}`);
    text += entity === undefined ? (run ?? "") : characters[entity];
    if (tag === "") continue;
    if (all === "<br>" || all === "<hr>") text += "\n";
    else if (slash === "/") {
      if (open.pop() !== tag) throw new Error(`${all} closes nothing in ${html}`);
    } else {
      const rule = attributes[tag];
      if (rule === undefined ? !plainTags.has(tag) || rest !== "" : !rule.test(rest))
        throw new Error(`${all} is not allowed`);
      if (allowedIn[tag]?.includes(open.at(-1) ?? "") === false)
        throw new Error(`${all} stands in ${open.at(-1)}`);
      open.push(tag);
    }
  }
  if (open.length > 0) throw new Error(`${open.join(", ")} left open in ${html}`);
  return text;
}
