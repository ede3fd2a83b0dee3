import type { AttentionItem, NodeControl, SystemHistory, SystemView } from '../../operations/index.ts';
import type { BackupRouteDeps } from '../panel-api/operation/system.ts';
import type { DemoChannel } from '../panel-api/operation/setup.ts';
import type { Maintenance } from '../pipeline/close-for-maintenance.ts';
import type { ReadinessChecks } from './health.ts';

/** What the operator is shown of the installation. */
export type Operation = {
  system: () => Promise<SystemView>;
  systemHistory: (hours: 24 | 168 | 336) => Promise<SystemHistory>;
  attention: () => Promise<AttentionItem[]>;
  backups: BackupRouteDeps['backups'];
  demoChannel: () => Promise<DemoChannel>;
  readiness: ReadinessChecks;
  /** What clients are told while submissions are refused; undefined: they are not. */
  maintenance: () => Maintenance | undefined;
  /** Why `/readyz` sends proxies elsewhere although no part has failed. */
  outOfService: () => string | undefined;
  nodes: NodeControl;
};
