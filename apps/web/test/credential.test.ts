import { expect, test } from "vitest";
import { codeIn, storedToken } from "../src/session/credential.ts";
import { storedOutbox } from "../src/session/outbox.ts";
import { memoryStorage } from "./fake-gateway.ts";

test.for([
  ["http://h/#code=ABC", "ABC", "http://h/"],
  ["http://h/?code=ABC", "ABC", "http://h/"],
  ["http://h/?x=1&code=Q#code=ABC&y=2", "ABC", "http://h/?x=1#y=2"],
  ["http://h/", null, null],
  ["http://h/#code=", null, null],
  ["http://h/#token=ABC", null, null],
] as const)("%s has the code %s and leaves %s", ([url, code, rest]) => {
  const found = codeIn(new URL(url));
  expect([found?.code ?? null, found?.rest.href ?? null]).toEqual([code, rest]);
});

test("what a token allows is known while it is kept, and no longer", () => {
  const storage = memoryStorage();
  const shelf = storedToken(storage);
  shelf.keepScopes(["read", "write"]);
  expect(shelf.scopes()).toEqual([]);
  shelf.keep("token");
  expect(shelf.scopes()).toEqual(["read", "write"]);
  shelf.forget();
  shelf.keep("another");
  expect(shelf.scopes()).toEqual([]);
});

test("the outbox leaves alone what is not its own", () => {
  const storage = memoryStorage();
  storage.setItem("parley.outbox.a", "{broken");
  storage.setItem("parley.outbox.b", "null");
  storage.setItem("other", "1");
  const outbox = storedOutbox(storage);
  outbox.add({ key: "2", text: "later", thread: null, atMs: 2 });
  outbox.add({ key: "1", text: "first", thread: null, atMs: 1 });
  expect(outbox.list().map(({ text }) => text)).toEqual(["first", "later"]);
  outbox.remove("1");
  expect(outbox.list()).toEqual([{ key: "2", text: "later", thread: null, atMs: 2 }]);
});
