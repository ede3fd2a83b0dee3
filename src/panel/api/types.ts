import type { Routes } from '../../http/index.ts';

/**
 * The API's answers as the panel reads them. They are derived from the server's routes, so the type
 * check fails when a route changes and the panel does not. Times are Unix seconds. Quota is an
 * integer; 500,000 is one US dollar.
 */
type Api = Routes['~Routes']['api'];
type DataOf<Route extends { response: { 200: unknown } }> = Route['response'][200] extends { data: infer Data }
  ? Data
  : never;

/** `status` is true once a root account exists. */
export type SetupState = DataOf<Api['setup']['get']>;
export type DemoChannel = DataOf<Api['setup']['demo-channel']['post']>;
export type GatewayStatus = DataOf<Api['status']['get']>;
/** The answer to a password: a session, or a second-factor step. */
export type LoginResponse = DataOf<Api['user']['login']['post']>;
/** Where to send the browser for a sign-in or a binding at a provider. */
export type OAuthTicket = DataOf<Api['oauth']['state']['post']>;
/** Starts a flow that a second call finishes. */
export type FlowTicket = DataOf<Api['oauth']['wechat']['state']['post']>;
export type LegalTexts = DataOf<Api['legal']['get']>;
/** The answer to a finished login and to a refresh. */
export type SessionBundle = DataOf<Api['user']['auth']['refresh']['post']>;
export type User = DataOf<Api['user']['self']['get']>;
export type BalanceAlert = DataOf<Api['user']['self']['balance-alert']['get']>;
/** `new_secret` is shown in this answer only. */
export type SavedBalanceAlert = DataOf<Api['user']['self']['balance-alert']['put']>;
export type BalanceAlertFields = Api['user']['self']['balance-alert']['put']['body'];
export type KeptStorage = DataOf<Api['user']['self']['storage']['get']>;
export type LoginSession = SessionBundle['session'];
/**
 * The answer to a change of password, second factor or passkeys: the session continues with a new
 * access token.
 */
export type SessionRotation = Omit<SessionBundle, 'user'>;
/** The scope of a Security Proof, whether this account needs one for it, and the proof. */
export type SecurityProofScope = Api['verify']['post']['body']['scope'];
export type SecurityProofRequirement = DataOf<Api['verify']['get']>;
export type SecurityProof = DataOf<Api['verify']['post']>;
/** WebAuthn options for using a passkey. */
export type PasskeyRequest = DataOf<Api['user']['passkey']['verify']['begin']['post']>;

export type ApiKeyPage = DataOf<Api['token']['get']>;
export type ApiKey = DataOf<Api['token'][':id']['get']>;
/** Id and name of a key, and whose it is. */
export type KeyName = DataOf<Api['token']['names']['get']>[number];
export type ChannelName = DataOf<Api['channel']['names']['get']>[number];
export type ApiKeyFields = Api['token'][':id']['put']['body'];
/** The only answer that contains the key itself. */
export type NewApiKey = DataOf<Api['token']['post']>;
export type RotatedKey = DataOf<Api['token'][':id']['rotate']['post']>;
export type WebhookSecret = DataOf<Api['token'][':id']['webhook-secret']['post']>;
export type TwoFactorStatus = DataOf<Api['user']['2fa']['status']['get']>;
export type TwoFactorSetup = DataOf<Api['user']['2fa']['setup']['post']>;
export type Passkey = DataOf<Api['user']['passkey']['get']>[number];
/** WebAuthn options for creating a passkey. */
export type PasskeyCreation = DataOf<Api['user']['passkey']['register']['begin']['post']>;
export type PersonalToken = NonNullable<DataOf<Api['user']['token']['get']>>;
export type NewPersonalToken = DataOf<Api['user']['token']['post']>;
export type Binding = DataOf<Api['user']['oauth']['bindings']['get']>[number];
/** A filter of the task list under a name. */
export type TaskView = DataOf<Api['user']['self']['views']['get']>[number];
export type UsageStats = DataOf<Api['stats']['get']>;
export type UsageReport = DataOf<Api['usage']['get']>;
export type UsagePage = DataOf<Api['log']['get']>;
export type UsageRow = UsagePage['items'][number];
export type TelegramTicket = DataOf<Api['oauth']['telegram']['bind']['start']['post']>;

type PluginApi = Api['plugin']['task'];
export type PluginSummary = DataOf<PluginApi['get']>[number];
/** The answer to an upload. */
export type StoredPlugin = DataOf<PluginApi['post']>;
export type PluginDetail = DataOf<PluginApi[':key']['get']>;
export type PluginVersion = DataOf<PluginApi[':key']['versions']['get']>[number];
export type PluginRuntime = DataOf<PluginApi['runtime']['status']['get']>;
export type PluginPreview = DataOf<PluginApi[':key']['preview']['post']>;
export type PluginDryRun = DataOf<PluginApi[':key']['dryrun']['post']>;
export type MarketplaceSource = DataOf<PluginApi['marketplace']['get']>[number];
export type MarketplacePlugin = MarketplaceSource['plugins'][number];
export type MarketplaceSourceText = DataOf<PluginApi['marketplace']['source']['get']>;
export type PluginMove = DataOf<PluginApi[':key']['move']['get']>;
export type MarketplaceInstall = DataOf<PluginApi['marketplace']['install']['post']>;
export type Price = DataOf<Api['price']['get']>['items'][number];
export type UnpricedPluginModels = DataOf<Api['price']['missing']['get']>[number];
export type PluginPrices = DataOf<Api['price']['plugin'][':key']['get']>;
export type PriceSheet = DataOf<Api['price']['sheet']['get']>;
export type PriceSummary = NonNullable<NonNullable<PluginPrices['models'][number]['price']>['summary']>;
export type PriceReplay = DataOf<Api['price']['replay']['post']>;
export type PriceQuote = DataOf<Api['price']['quote']['post']>;

export type Channel = DataOf<Api['channel'][':id']['get']>;
export type ChannelHistory = DataOf<Api['channel'][':id']['history']['get']>;
export type ChannelPage = DataOf<Api['channel']['get']>;
export type SavedChannel = DataOf<Api['channel']['post']>;
export type ChannelTestResult = DataOf<Api['channel'][':id']['test']['post']>;
export type ChannelChoices = DataOf<Api['channel']['choices']['get']>;
export type Account = DataOf<Api['user'][':id']['get']>;
export type LedgerPage = DataOf<Api['user'][':id']['ledger']['get']>;
export type LedgerRow = LedgerPage['items'][number];
export type AccountPage = DataOf<Api['user']['get']>;
export type AccountRow = AccountPage['items'][number];
export type AccountSession = DataOf<Api['user'][':id']['sessions']['get']>[number];
export type Option = DataOf<Api['option']['get']>[number];
export type OptionTestResult = DataOf<Api['option']['test']['post']>;
export type OAuthProvider = DataOf<Api['custom-oauth-provider']['get']>[number];
export type DiscoveredProvider = DataOf<Api['custom-oauth-provider']['discovery']['post']>;
export type AuditPage = DataOf<Api['audit']['get']>;
export type AuditEntry = AuditPage['items'][number];
export type SystemHistory = DataOf<Api['node']['history']['get']>;
export type NodeReport = DataOf<Api['node']['get']>;
export type BackupsReport = DataOf<Api['backup']['get']>;

type CaseApi = Api['case'];
export type CaseFile = DataOf<CaseApi[':kind'][':id']['get']>;
export type CaseLink = DataOf<CaseApi[':kind'][':id']['link']['post']>;
/** A case file that was opened by its link. */
export type SharedCase = DataOf<CaseApi['shared']['post']>;

type TaskApi = Api['task'];
export type TaskPage = DataOf<TaskApi['get']>;
export type TaskSummary = DataOf<TaskApi['get']>['items'][number];
export type TaskFeed = DataOf<TaskApi['feed']['get']>;
export type QueuePage = DataOf<Api['queue']['get']>;
export type QueuedTask = QueuePage['items'][number];
export type QueueClass = QueuePage['classes'][number];
export type FailureReason = DataOf<TaskApi['failures']['get']>[number];
export type VendorAnswer = DataOf<TaskApi[':task_id']['answer']['get']>;
export type TaskArtifacts = DataOf<TaskApi[':task_id']['artifacts']['get']>;
export type TaskDetail = DataOf<TaskApi[':task_id']['get']>;
export type TaskWebhook = DataOf<TaskApi[':task_id']['webhooks']['get']>['items'][number];
export type CallableModel = DataOf<Api['model']['get']>[number];
export type ModelCatalog = DataOf<Api['model']['catalog']['get']>;
export type ModelCard = ModelCatalog['items'][number];
/** What a model made last. */
export type ModelResult = DataOf<Api['model']['results']['get']>[number];
export type TaskQuote = DataOf<TaskApi['quote']['post']>;
export type AttentionItem = DataOf<Api['attention']['get']>[number];

/** `status` of an account. */
export const accountStatus = { enabled: 1, disabled: 2 } as const satisfies Record<string, AccountRow['status']>;

/** `status` of a channel. */
export const channelStatus = { enabled: 1, disabled: 2 } as const satisfies Record<string, Channel['status']>;

/** `status` of an API key. Clients set the first two; the gateway derives the others. */
export const keyStatus = { active: 1, disabled: 2, expired: 3, spent: 4 } as const satisfies Record<
  string,
  ApiKey['status']
>;
