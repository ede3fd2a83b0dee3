import { availableParallelism } from 'node:os';
import {
  boolean,
  DEFAULT_TRUSTED_PROXIES,
  host,
  httpsOrigins,
  integer,
  oneOf,
  pemFile,
  proxyList,
  secret,
  secretList,
  text,
  urlOf,
  type ValueKind,
} from './config-kinds.ts';

export const CONFIG_GROUPS = {
  server: 'Server',
  storage: 'Database and cache',
  secrets: 'Secrets',
  sessions: 'Panel sessions',
  limits: 'Rate limits',
  tasks: 'Tasks and polling',
  artifacts: 'Files and artifacts',
  sandbox: 'Plugin sandbox',
} as const;

export type ConfigGroup = keyof typeof CONFIG_GROUPS;

export type Variable<T> = {
  /** Name of the environment variable. */
  env: string;
  group: ConfigGroup;
  /** One or two sentences for `serve --help` and docs/configuration.md. */
  doc: string;
  kind: ValueKind<T>;
  default: NoInfer<T>;
  /** How the default reads in the tables where its value does not say it. */
  defaultText?: string;
  /** Its value never appears in a message. */
  secret?: true;
  /** An invalid value takes the default with a warning instead of stopping the start. */
  fallback?: true;
};

/** The kind alone says the type; the default must fit it. */
const variable = <T>(definition: Variable<T>): Variable<T> => definition;

/** Every environment variable there is. Names, defaults and fallbacks of the sessions group are the specification's. */
export const VARIABLES = {
  host: variable({
    env: 'HOST',
    group: 'server',
    doc: 'Address to listen on. Anything but loopback opens the gateway to the network.',
    kind: host,
    default: '127.0.0.1',
  }),
  port: variable({
    env: 'PORT',
    group: 'server',
    doc: 'Port to listen on; 0 takes a free one.',
    kind: integer(0, 65_535),
    default: 3000,
  }),
  dataDir: variable({
    env: 'DATA_DIR',
    group: 'server',
    doc: 'Folder of the SQLite database and of generated secrets; made with mode 0700 when absent.',
    kind: text('a path'),
    default: './data',
  }),
  tlsCert: variable({
    env: 'TLS_CERT_FILE',
    group: 'server',
    doc: 'Certificate chain (PEM). Together with TLS_KEY_FILE it makes the listener HTTPS.',
    kind: pemFile,
    default: '',
    defaultText: 'unset',
  }),
  tlsKey: variable({
    env: 'TLS_KEY_FILE',
    group: 'server',
    doc: 'Private key (PEM) of TLS_CERT_FILE.',
    kind: pemFile,
    default: '',
    defaultText: 'unset',
  }),
  trustedProxies: variable({
    env: 'TRUSTED_PROXIES',
    group: 'server',
    doc: 'Proxies whose X-Forwarded-For is believed; a list replaces the default entirely, "none" trusts nobody.',
    kind: proxyList,
    default: DEFAULT_TRUSTED_PROXIES,
    defaultText: 'loopback and private ranges, with a warning',
  }),
  nodeRole: variable({
    env: 'NODE_ROLE',
    group: 'server',
    doc: 'All nodes serve and poll; only a master also runs the hourly clean-up.',
    kind: oneOf('master', 'worker'),
    default: 'master',
  }),
  logLevel: variable({
    env: 'LOG_LEVEL',
    group: 'server',
    doc: 'Least level that is logged.',
    kind: oneOf('debug', 'info', 'warn', 'error', 'silent'),
    default: 'info',
  }),
  logFormat: variable({
    env: 'LOG_FORMAT',
    group: 'server',
    doc: 'Form of the log on standard error: one JSON object a line, or lines for people.',
    kind: oneOf('auto', 'json', 'pretty'),
    default: 'auto',
    defaultText: 'auto: pretty on a terminal, else json',
  }),
  debug: variable({
    env: 'DEBUG',
    group: 'server',
    doc: 'Logs at level debug, with the task_plugin life-cycle events and plugin console output.',
    kind: boolean,
    default: false,
  }),
  metricsToken: variable({
    env: 'METRICS_TOKEN',
    group: 'server',
    doc: 'Bearer token of /metrics. Without it only a direct loopback peer may read metrics.',
    kind: secret,
    default: '',
    defaultText: 'unset: loopback only',
    secret: true,
  }),
  shutdownSeconds: variable({
    env: 'SHUTDOWN_TIMEOUT_SECONDS',
    group: 'server',
    doc: 'How long a stop waits for requests in flight. A second signal ends the wait.',
    kind: integer(0, 3600),
    default: 25,
  }),
  databaseUrl: variable({
    env: 'DATABASE_URL',
    group: 'storage',
    doc: 'PostgreSQL connection URL. Empty: SQLite in DATA_DIR.',
    kind: urlOf(['postgres:', 'postgresql:'], 'postgres://user:password@host:5432/database'),
    default: '',
    defaultText: 'empty: SQLite',
    secret: true,
  }),
  sqliteSynchronous: variable({
    env: 'SQLITE_SYNCHRONOUS',
    group: 'storage',
    doc: 'FULL survives a power cut; NORMAL trades the last commits at a power cut for speed.',
    kind: oneOf('FULL', 'NORMAL'),
    default: 'FULL',
  }),
  redisUrl: variable({
    env: 'REDIS_URL',
    group: 'storage',
    doc: 'Redis or Valkey as shared cache of several nodes. Empty: every node counts for itself.',
    kind: urlOf(['redis:', 'rediss:'], 'redis://host:6379 or rediss://user:password@host:6379'),
    default: '',
    defaultText: 'empty: no cache',
    secret: true,
  }),
  sessionSecret: variable({
    env: 'SESSION_SECRET',
    group: 'secrets',
    doc: 'Keys of access tokens, proofs, refresh tokens and login flows. The same on all nodes; a change signs everybody out.',
    kind: secret,
    default: '',
    defaultText: 'SQLite: made once and kept in DATA_DIR; PostgreSQL: required',
    secret: true,
  }),
  sessionSecretPrevious: variable({
    env: 'SESSION_SECRET_PREVIOUS',
    group: 'secrets',
    doc: 'Former session secrets, comma-separated: they still verify and never sign.',
    kind: secretList,
    default: [],
    defaultText: 'unset',
    secret: true,
  }),
  cryptoSecret: variable({
    env: 'CRYPTO_SECRET',
    group: 'secrets',
    doc: 'Encrypts stored credentials, signs artifact links, keys cache digests. The same on all nodes.',
    kind: secret,
    default: '',
    defaultText: 'SQLite: made once and kept in DATA_DIR; PostgreSQL: required',
    secret: true,
  }),
  cryptoSecretPrevious: variable({
    env: 'CRYPTO_SECRET_PREVIOUS',
    group: 'secrets',
    doc: 'Former crypto secrets, comma-separated: they still decrypt and verify. Without one, a changed CRYPTO_SECRET leaves stored credentials unreadable.',
    kind: secretList,
    default: [],
    defaultText: 'unset',
    secret: true,
  }),
  syncFrequency: variable({
    env: 'SYNC_FREQUENCY',
    group: 'sessions',
    doc: 'Seconds after which a node re-reads what others may have changed: sessions, plugins, prices, options.',
    kind: integer(1, 86_400),
    default: 60,
    fallback: true,
  }),
  cookieSecure: variable({
    env: 'SESSION_COOKIE_SECURE',
    group: 'sessions',
    doc: 'true: cookies travel over HTTPS only and the origin of refresh and logout is checked. false is for local use.',
    kind: boolean,
    default: false,
    defaultText: 'unset: false',
  }),
  cookieTrustedUrls: variable({
    env: 'SESSION_COOKIE_TRUSTED_URL',
    group: 'sessions',
    doc: "Further origins that may refresh and log out, beside the request's own. Needs SESSION_COOKIE_SECURE=true; list the public origin when a proxy ends TLS.",
    kind: httpsOrigins,
    default: [],
    defaultText: 'unset',
  }),
  sessionActiveLimit: variable({
    env: 'USER_SESSION_ACTIVE_LIMIT',
    group: 'sessions',
    doc: 'Most unexpired active sessions a user.',
    kind: integer(1, 1_000_000),
    default: 50,
    fallback: true,
  }),
  sessionIssuanceLimit: variable({
    env: 'USER_SESSION_ISSUANCE_LIMIT',
    group: 'sessions',
    doc: 'Most sessions that a user may open within the issuance window.',
    kind: integer(1, 1_000_000),
    default: 100,
    fallback: true,
  }),
  sessionIssuanceWindow: variable({
    env: 'USER_SESSION_ISSUANCE_WINDOW_SECONDS',
    group: 'sessions',
    doc: 'The issuance window in seconds; at most the retention of revoked sessions.',
    kind: integer(1, 315_360_000),
    default: 86_400,
    fallback: true,
  }),
  sessionRevokedRetentionDays: variable({
    env: 'USER_SESSION_REVOKED_RETENTION_DAYS',
    group: 'sessions',
    doc: 'Days that revoked sessions are kept.',
    kind: integer(1, 3650),
    default: 7,
    fallback: true,
  }),
  sessionHourlyAlert: variable({
    env: 'USER_SESSION_HOURLY_ALERT_THRESHOLD',
    group: 'sessions',
    doc: 'Logs an alert when more sessions than this are opened in an hour, over all users. Refuses nothing.',
    kind: integer(1, 1_000_000_000),
    default: 5000,
    fallback: true,
  }),
  criticalLimit: variable({
    env: 'CRITICAL_RATE_LIMIT',
    group: 'limits',
    doc: 'Sign-in, refresh, registration and reset requests an IP address may send per CRITICAL_RATE_LIMIT_DURATION.',
    kind: integer(1, 1_000_000_000),
    default: 600,
  }),
  criticalLimitSeconds: variable({
    env: 'CRITICAL_RATE_LIMIT_DURATION',
    group: 'limits',
    doc: 'Window of CRITICAL_RATE_LIMIT in seconds.',
    kind: integer(1, 86_400),
    default: 1200,
  }),
  updateTask: variable({
    env: 'UPDATE_TASK',
    group: 'tasks',
    doc: 'Whether this node polls running tasks.',
    kind: boolean,
    default: true,
  }),
  pollIntervalSeconds: variable({
    env: 'TASK_POLL_INTERVAL_SECONDS',
    group: 'tasks',
    doc: 'Longest time between two polls of a task. Young tasks are asked more often.',
    kind: integer(1, 3600),
    default: 15,
  }),
  pollChannelConcurrency: variable({
    env: 'TASK_POLL_CHANNEL_CONCURRENCY',
    group: 'tasks',
    doc: 'Polls of one channel in flight at once on a node.',
    kind: integer(1, 1000),
    default: 16,
  }),
  pollMaxFailures: variable({
    env: 'TASK_POLL_MAX_FAILURES',
    group: 'tasks',
    doc: 'Consecutive failed polls that fail a task with a refund; 0 or less: never.',
    kind: integer(-1, 1_000_000),
    default: 20,
  }),
  taskTimeoutMinutes: variable({
    env: 'TASK_TIMEOUT_MINUTES',
    group: 'tasks',
    doc: 'Age at which an unfinished task is asked a last time and then failed with a refund; 0 or less: never.',
    kind: integer(-1, 5_256_000),
    default: 1440,
  }),
  taskQueryLimit: variable({
    env: 'TASK_QUERY_LIMIT',
    group: 'tasks',
    doc: 'Most tasks that a node claims in one go; more than 256 are never taken at once.',
    kind: integer(1, 100_000),
    default: 1000,
  }),
  protocolTimeoutSeconds: variable({
    env: 'TASK_PLUGIN_PROTOCOL_TIMEOUT_SECONDS',
    group: 'tasks',
    doc: 'Longest submission, and longest wait for a task by one streaming or waiting client.',
    kind: integer(1, 86_400),
    default: 600,
  }),
  protocolTickMs: variable({
    env: 'TASK_PLUGIN_PROTOCOL_TICK_MILLISECONDS',
    group: 'tasks',
    doc: 'Time between two looks at a task for a streaming or waiting client.',
    kind: integer(50, 60_000),
    default: 2000,
  }),
  protocolTickJitterMs: variable({
    env: 'TASK_PLUGIN_PROTOCOL_TICK_JITTER_MILLISECONDS',
    group: 'tasks',
    doc: 'Spread added to the tick, fixed for a task.',
    kind: integer(0, 60_000),
    default: 0,
  }),
  protocolHeartbeatSeconds: variable({
    env: 'TASK_PLUGIN_PROTOCOL_HEARTBEAT_SECONDS',
    group: 'tasks',
    doc: 'Time between two keep-alive comments of a stream.',
    kind: integer(1, 300),
    default: 15,
  }),
  upstreamAllowPrivate: variable({
    env: 'UPSTREAM_ALLOW_PRIVATE',
    group: 'tasks',
    doc: "Lets plugins reach private and loopback addresses beside their channel's own. For tests and labs; link-local and metadata addresses stay closed.",
    kind: boolean,
    default: false,
  }),
  maxFileMb: variable({
    env: 'MAX_FILE_DOWNLOAD_MB',
    group: 'artifacts',
    doc: 'Largest uploaded file, and most bytes inlined into one vendor request, in MB.',
    kind: integer(1, 4096),
    default: 64,
  }),
  artifactInvalidPerMinute: variable({
    env: 'TASK_ARTIFACT_INVALID_RATE_LIMIT_PER_MINUTE',
    group: 'artifacts',
    doc: 'Invalid artifact links an IP address may try per minute.',
    kind: integer(1, 1_000_000),
    default: 60,
  }),
  artifactGlobalConcurrency: variable({
    env: 'TASK_ARTIFACT_GLOBAL_CONCURRENCY',
    group: 'artifacts',
    doc: 'Downloads by artifact link at once on a node.',
    kind: integer(1, 100_000),
    default: 128,
  }),
  artifactIpConcurrency: variable({
    env: 'TASK_ARTIFACT_IP_CONCURRENCY',
    group: 'artifacts',
    doc: 'The same for one IP address.',
    kind: integer(1, 100_000),
    default: 64,
  }),
  artifactObjectConcurrency: variable({
    env: 'TASK_ARTIFACT_OBJECT_CONCURRENCY',
    group: 'artifacts',
    doc: 'The same for one artifact.',
    kind: integer(1, 100_000),
    default: 16,
  }),
  sandboxProcesses: variable({
    env: 'SANDBOX_PROCESSES',
    group: 'sandbox',
    doc: 'Most processes that run plugin code; the first starts with the gateway, further ones under load.',
    kind: integer(1, 64),
    // Two at least: one slow plugin may then never occupy them all.
    default: Math.min(4, Math.max(2, availableParallelism())),
    defaultText: 'number of processors, 2 to 4',
  }),
  sandboxTimeoutMs: variable({
    env: 'SANDBOX_TIMEOUT_MILLISECONDS',
    group: 'sandbox',
    doc: 'Longest hook call and longest loading of a plugin.',
    kind: integer(50, 60_000),
    default: 5000,
  }),
  sandboxKillGraceMs: variable({
    env: 'SANDBOX_KILL_GRACE_MILLISECONDS',
    group: 'sandbox',
    doc: 'From the interrupt of a late hook to the end of its process.',
    kind: integer(10, 10_000),
    default: 250,
  }),
  sandboxMemoryMb: variable({
    env: 'SANDBOX_MEMORY_MB',
    group: 'sandbox',
    doc: 'Memory of one loaded plugin.',
    kind: integer(16, 1024),
    default: 128,
  }),
  sandboxSourceKb: variable({
    env: 'SANDBOX_SOURCE_KB',
    group: 'sandbox',
    doc: "Largest plugin source, in KiB. More than the contract's 1024 makes plugins that other gateways refuse.",
    kind: integer(16, 16_384),
    default: 1024,
  }),
  sandboxConsoleKb: variable({
    env: 'SANDBOX_CONSOLE_KB',
    group: 'sandbox',
    doc: 'Console output kept of one hook call, in KiB.',
    kind: integer(0, 1024),
    default: 16,
  }),
  sandboxCallsPerPlugin: variable({
    env: 'SANDBOX_CALLS_PER_PLUGIN',
    group: 'sandbox',
    doc: 'Hook calls of one plugin at once on a node.',
    kind: integer(1, 1000),
    default: 8,
  }),
  sandboxKillsToSuspend: variable({
    env: 'SANDBOX_KILLS_TO_SUSPEND',
    group: 'sandbox',
    doc: 'Kills within SANDBOX_KILL_WINDOW_SECONDS after which a plugin takes no new submissions for a while.',
    kind: integer(1, 1000),
    default: 5,
  }),
  sandboxKillWindowSeconds: variable({
    env: 'SANDBOX_KILL_WINDOW_SECONDS',
    group: 'sandbox',
    doc: 'Window in which kills are counted.',
    kind: integer(1, 86_400),
    default: 600,
  }),
  sandboxSuspendSeconds: variable({
    env: 'SANDBOX_SUSPEND_SECONDS',
    group: 'sandbox',
    doc: 'How long such a plugin is suspended.',
    kind: integer(1, 86_400),
    default: 300,
  }),
};

export type VariableName = keyof typeof VARIABLES;

/** The values of all variables, after checks. */
export type Config = {
  readonly [K in VariableName]: (typeof VARIABLES)[K] extends Variable<infer T> ? T : never;
};
