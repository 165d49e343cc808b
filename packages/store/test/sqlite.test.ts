// The embedded driver keeps the contract.
import { storeContract } from "./contract.ts";
import { openSqlite } from "./open-sqlite.ts";

storeContract({ name: "sqlite", open: openSqlite });
