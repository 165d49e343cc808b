// Language models behind one contract. Providers load their SDK only when they are called.
export * from "./model.ts";
