// Counterparts for tests: fake platforms and model servers, time and chance under control. Never a dependency of the product.
export * from "./clock.ts";
export * from "./programs.ts";
