// Runs several processes over one store: leadership of accounts, the registry of nodes, and messages between
// nodes.
export { clusterHandOvers, clusterMigratedChats } from "./cluster-chats.ts";
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
