export function healPartial(markdown: string): string { return markdown; }
