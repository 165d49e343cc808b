// The shell's pages as elements: each is made once, also where it is wanted again while its code is still on
// its way. A browser refuses a second element of a name.
import type { Page } from "../parts/page.ts";
import type { PageEntry } from "../parts/places.ts";

export interface PageElements {
  /** One that was made. */
  get(path: string): Page | undefined;
  /** Resolves with the same element for everybody; after a failure it is tried again. */
  make(entry: PageEntry): Promise<Page>;
}

/** `create` makes an element of a page's kind. */
export function pageElements(create: (tag: string, kind: new () => Page) => Page): PageElements {
  const made = new Map<string, Page>();
  const making = new Map<string, Promise<Page>>();
  async function makeOf({ path, load }: PageEntry): Promise<Page> {
    try {
      const page = create(`parley-page-${path}`, await load());
      made.set(path, page);
      return page;
    } finally {
      making.delete(path);
    }
  }
  return {
    get: (path) => made.get(path),
    make: (entry) => {
      const known = made.get(entry.path);
      if (known !== undefined) return Promise.resolve(known);
      const wait = making.get(entry.path) ?? makeOf(entry);
      making.set(entry.path, wait);
      return wait;
    },
  };
}
