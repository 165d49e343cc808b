// Several processes over one store: who leads which account, who is there, and what nodes tell each other.
export { clusterMigratedChats } from "./cluster-chats.ts";
export { hubOfNodes } from "./cluster-events.ts";
export { cluster, isWeb, type Cluster } from "./cluster.ts";
export { freeLeaders, leaderCell } from "./leader-election.ts";
export { roleOf, takePlace, type NodePlace, type Role } from "./node-identity.ts";
export {
  keepNodeRegistry,
  readNodeRegistry,
  type NodeLine,
  type NodeView,
  type NodeRegistry,
} from "./node-registry.ts";
export { commandsOfNodes } from "./remote-commands.ts";
