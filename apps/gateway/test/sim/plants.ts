// Planted bugs.
import type { Store } from "@parley/store";
import type { DriverFlaws } from "./channels.ts";
import type { World } from "./world.ts";

export interface Plant {
  readonly name: string;
  readonly store?: (world: World) => (store: Store) => Store;
  readonly flaws?: DriverFlaws;
}

export const noPlant: Plant = { name: "none" };
