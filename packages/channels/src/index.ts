// Platforms behind one contract. Factories load their driver's SDK only when they are called.
export * from "./channel.ts";
export * from "./web.ts";
export * from "./text/index.ts";
