/** What the application is made of. This file imports no behaviour. */
import type { Auth } from '../auth/index.ts';
import type { AccountStatements, Billing, OfferedModel } from '../billing/index.ts';
import type { CapacityService, Channels } from '../channels/index.ts';
import type { Clock, Logger } from '../kernel/index.ts';
import type { Webhooks } from '../notifications/index.ts';
import type { Marketplace, PluginService } from '../plugins/index.ts';
import type { Relay } from '../relay/index.ts';
import type { Reports } from '../reports/index.ts';
import type { Results } from '../results/index.ts';
import type { OptionTrials, SettingsService } from '../settings/index.ts';
import type { Batches, Surfaces } from '../surfaces/index.ts';
import type { Tasks } from '../tasks/index.ts';
import type { TryChannel } from '../vendors/index.ts';
import type { HttpConfig, Observed } from './assemble-pipeline.ts';
import type { ReadinessChecks } from './operator/health.ts';
import type { ViewDevelopment } from './operator/plugin-development.ts';
import type { GroupLimits } from './panel-api/accounts/api-keys.ts';
import type { ExportUser } from './panel-api/accounts/own-account.ts';
import type { RequestKeys } from './panel-api/idempotent-answers.ts';
import type { AuditLog } from './panel-api/operation/audit-log.ts';
import type { DemoChannel } from './panel-api/operation/setup.ts';
import type { StatusDeps } from './panel-api/operation/status.ts';
import type { SystemViews } from './panel-api/operation/system.ts';
import type { UsageLog } from './panel-api/operation/usage-log.ts';
import type { NewAuditRow } from './panel-api/record-audit.ts';
import type { PanelManifest } from './panel-files/panel-manifest.ts';
import type { Maintenance } from './pipeline/close-for-maintenance.ts';

export type HttpDeps = {
  config: HttpConfig & {
    /** MAX_FILE_DOWNLOAD_MB in bytes: the largest file in a body. */
    maxFileBytes: number;
    /** TASK_PLUGIN_PROTOCOL_HEARTBEAT_SECONDS in ms, between two comments of a stream. */
    heartbeatMs: number;
    /** A folder that holds nothing but clients' files on their way to a vendor. */
    uploadsFolder: string;
    /** The id that all nodes of this installation share. */
    installation: string;
  };
  auth: Auth;
  gateway: GatewayServices;
  taskRooms: TaskServices;
  accounts: AccountRecords;
  /** What the panel needs to know before sign-in. */
  status: Omit<StatusDeps, 'auth' | 'startedAt'>;
  operation: Operation;
  observed: Observed;
  panel: PanelManifest;
  /** Set by `plugin dev`: the calls of the plugin under development. */
  development?: ViewDevelopment | undefined;
  clock: Clock;
  logger: Logger;
};

/** What administrators set up: plugins, channels, prices and settings. */
export type GatewayServices = {
  plugins: PluginService;
  marketplace: Marketplace;
  channels: Channels;
  capacity: CapacityService;
  billing: Billing;
  /** Every model that a plugin declares or a channel lists. */
  offeredModels: () => OfferedModel[];
  options: SettingsService;
  optionTrials: OptionTrials;
  /** Tests a channel step by step and at no cost. */
  tryChannel: TryChannel;
  /** Reads what is left at the vendor of each key of a channel; returns of how many. */
  readAccounts: (channelId: number, signal: AbortSignal) => Promise<number>;
};

/** What the operator is shown of the installation. */
type Operation = SystemViews & {
  demoChannel: () => Promise<DemoChannel>;
  readiness: ReadinessChecks;
  /** What clients are told while submissions are refused; undefined: they are not. */
  maintenance: () => Maintenance | undefined;
  /** Why `/readyz` sends proxies elsewhere although no part has failed. */
  outOfService: () => string | undefined;
};

/** What makes tasks and shows them. */
type TaskServices = {
  tasks: Tasks;
  surfaces: Surfaces;
  batches: Batches;
  results: Results;
  relay: Relay;
  reports: Reports;
  webhooks: Webhooks;
};

/** This gives access to the records that the gateway keeps about accounts. */
type AccountRecords = {
  groupLimits: GroupLimits;
  exportUser: ExportUser;
  records: UsageLog & AuditLog & { addAudit(row: NewAuditRow): Promise<void> };
  statements: AccountStatements;
  requestKeys: RequestKeys;
  digestRequest: (text: string) => string;
  /** Called when a user has chosen when to be warned of a low balance. */
  onBalanceAlert: () => void;
};
