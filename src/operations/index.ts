/**
 * Owns: what keeps a gateway alive: its start beside others, its secrets, backups and their return,
 * certificates, the system's service, upgrades, the removal of old rows, watches that tell
 * administrators, the doctor and the overview of what needs attention. May touch: the data
 * directory, the database as a whole, backup locations, certificate authorities and releases
 * through `upstream`. Never touches: HTTP routes, the environment, the command line's words.
 *
 * - `start/`, `nodes/`, `storage/`, `secrets/`: what a node prepares and checks when it starts.
 *   `nodes/` also takes nodes out of service, but not two at a time, nor the last (`drain` in
 *   `store/repositories/gateway/nodes.ts`).
 * - `backup/`, `upgrade/`, `system-service/`, `certificates/`: what their names say. What a
 *   restored database forgets: `store/repositories/gateway/invalidate-restored-state.ts`.
 * - `retention/`: the removal of old tasks, prompts, log lines and erased users.
 * - `watches/`: loops that notice trouble and tell administrators or users. Who is warned of a low
 *   balance, and when again: `store/repositories/money/balance-alerts.ts`.
 * - `doctor/`: checks of database, backups, results and network.
 * - `overview/`: what the home page says needs attention; the system page, and what it samples.
 */

export { operationErrors } from './errors.ts';
export type { NodeControl } from './nodes/drain-node.ts';
export type { AttentionItem, BackupsView, SystemHistory, SystemView } from './overview/types.ts';
export { eraseUnstoredStep } from './retention/erase-unstored.ts';
export { eraseUsersStep } from './retention/erase-users.ts';
export {
  type RetentionSettings,
  type RetentionStep,
  retentionSteps,
} from './retention/retention-steps.ts';
