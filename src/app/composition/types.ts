import type { Auth } from '../../auth/index.ts';
import type { Billing } from '../../billing/index.ts';
import type { CapacityService, Channels } from '../../channels/index.ts';
import type { InRequest, Metrics, ViewDevelopment } from '../../http/index.ts';
import type { Clock, Logger, ReportCacheSize, SecretBox } from '../../kernel/index.ts';
import type { Backups } from '../../operations/backup/backup-schedule.ts';
import type { DataCheck } from '../../operations/doctor/weekly-check.ts';
import type { Secrets } from '../../operations/secrets/load-secrets.ts';
import type { Notices } from '../../operations/watches/queue-notices.ts';
import type { BalanceWatch } from '../../operations/watches/watch-balances.ts';
import type { ChannelWatch } from '../../operations/watches/watch-channels.ts';
import type { ClockCheck } from '../../operations/watches/watch-clock.ts';
import type { DiskWatch } from '../../operations/watches/watch-disks.ts';
import type { VendorAccountWatch } from '../../operations/watches/watch-vendor-accounts.ts';
import type { HookCall, PluginService } from '../../plugins/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import type { LiveOptions, NodeAddress, SettingsService, SettingWarning } from '../../settings/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { Tasks } from '../../tasks/index.ts';
import type { LagMeasurement } from '../../telemetry/metrics/event-loop-lag.ts';
import type { Upstream } from '../../upstream/index.ts';
import type { Config } from '../config/config-variables.ts';
import type { Tracing } from '../telemetry/open-tracing.ts';
import type { TaskServices } from './compose-tasks.ts';
import type { Shutdown } from './shutdown.ts';

/** What exists before any service. */
export type Foundation = {
  config: Config;
  clock: Clock;
  logger: Logger;
  store: Store;
  sandbox: Sandbox;
  secretBox: SecretBox;
  secrets: Secrets;
  nodeId: string;
  shutdown: Shutdown;
  development?: Development;
  /** What is unsafe or odd about the configuration. */
  warnings?: readonly SettingWarning[];
  inRequest?: InRequest | undefined;
};

/** A gateway for one plugin that its author works on: it serves no factory plugin. */
export type Development = { onHookCall: (call: HookCall) => void; view: ViewDevelopment };

/** The services below HTTP, and what they share. */
export type DomainServices = {
  plugins: PluginService;
  channels: Channels;
  /** What accounts run, and when they rest. */
  capacity: CapacityService;
  options: LiveOptions;
  billing: Billing;
  auth: Auth;
  taskRooms: TaskServices;
  watches: Watches;
  observed: Observed;
  /** Requests to vendors, providers and marketplaces. */
  upstream: Upstream;
  /** Changes while the gateway starts: `listening` is empty until the listener is open. */
  node: NodeAddress;
  /** Resolves when plugins, channels, prices and options have been loaded. */
  started: Promise<unknown>;
};

/** What looks after the installation on its own, and tells its operator. */
type Watches = {
  clockCheck: ClockCheck;
  disks: DiskWatch;
  backups: Backups;
  dataCheck: DataCheck;
  channelWatch: ChannelWatch;
  balanceWatch: BalanceWatch;
  vendorAccounts: VendorAccountWatch;
  notices: Notices;
};

/** What measures and traces this process. */
type Observed = {
  metrics: Metrics;
  tracing: Tracing | undefined;
  lag: LagMeasurement;
  reportCacheSize: ReportCacheSize;
};

/** What a command may do with a running gateway. */
export type Services = {
  auth: Auth;
  channels: Channels;
  plugins: PluginService;
  options: SettingsService;
  billing: Billing;
  tasks: Tasks;
};
