import type { Json, JsonObject, Result } from '../kernel/index.ts';
import type { SandboxFailure } from '../sandbox/index.ts';

/** A text by canonical BCP-47 locale; `en` is always there. */
export type LocalizedText = Record<string, string>;

export type UsageField =
  | { kind: 'enum'; values: string[]; enumLabels: Record<string, LocalizedText>; description?: LocalizedText }
  | { kind: 'number'; unit: 'second' | 'count' | 'token' | 'credit'; description?: LocalizedText }
  | { kind: 'boolean'; description?: LocalizedText };

export type RouteMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type PluginRoute = {
  method: RouteMethod;
  path: string;
  type: 'submit' | 'query' | 'dynamic';
  render: string;
  decode?: string;
  action?: string;
  taskIdParam: string;
  models?: string[];
};

export type ProtocolName = 'proto_video' | 'proto_responses';
export type ResponsesMode = 'stream' | 'sync' | 'background';
export type ProtocolClaim = {
  name: ProtocolName;
  /**
   * The name that the plugin wrote (an alias of new-api's contract, or the canonical one);
   * `ctx.protocol` carries it.
   */
  writtenAs: string;
  supports: ResponsesMode[];
  /** Narrowed set, or all of the plugin's models. */
  models: string[];
};

/** A manifest after checks, with texts as maps, hosts lower-cased and defaults filled in. */
export type Manifest = {
  apiVersion: 1;
  key: string;
  name: string;
  version: string;
  author: { name: string; url?: string };
  models: string[];
  fetchMode: 'per_task' | 'batch';
  icon?: string;
  description?: LocalizedText;
  sortPriority: number;
  website?: string;
  baseUrl?: string;
  /** `host` or `host:port` as written, in lower case; ask `allowsHost` rather than compare. */
  allowedHosts: string[];
  channelTypes: number[];
  protocols: ProtocolClaim[];
  routes: PluginRoute[];
  usageSchema: Record<string, UsageField>;
  usageExamples: { label: string; facts: JsonObject }[];
  auth: Json | undefined;
  hasArtifacts: boolean;
};

/**
 * One fault of a plugin. `path` is a JSON pointer into the manifest (`/routes/0/method`),
 * `exports/NAME`, or `source`; `rule` is stable and meant for programs.
 */
export type PluginFault = {
  path: string;
  rule: string;
  message: string;
  hint?: string;
  line?: number;
  column?: number;
};

/** `invalid_result`: the hook ran, but what it returned is not what the contract asks for. */
export type HookFailure = Omit<SandboxFailure, 'kind'> & {
  kind: SandboxFailure['kind'] | 'invalid_result';
  hook: string;
};

export type CallOptions = {
  /** On whose behalf, as in the sandbox's `HookCall`. */
  owner: string;
  alreadyAdmitted?: boolean;
  /** Hooks that carry bodies may exchange 16 MiB, the others 1 MiB. */
  large?: boolean;
  admissionTimeoutMs?: number;
  signal?: AbortSignal;
  /** Replaced in every text that comes back. */
  secrets?: readonly (string | undefined)[];
};

/**
 * Where a serving plugin comes from, the lowest first: a higher layer's plugin serves in place of a
 * lower one's of the same key.
 */
export type Layer = 'factory' | 'database' | 'development';

/**
 * One finished call of a hook as a developer sees it. No text in it holds a secret that the call
 * was given.
 */
export type HookCall = {
  key: string;
  version: string;
  /** As in `LoadedPlugin.call`. */
  hook: string;
  args: Json[];
  outcome: { ok: true; value: Json | undefined } | { ok: false; kind: HookFailure['kind']; message: string };
  console: string[];
  /**
   * From the call to its answer, in milliseconds; the first call of a source includes loading it.
   */
  ms: number;
};

/** A plugin of one generation: manifest and callable hooks. */
export interface LoadedPlugin {
  readonly key: string;
  readonly version: string;
  readonly sourceHash: string;
  readonly layer: Layer;
  readonly manifest: Manifest;
  /** `hook` is an export, or a path such as `protocols.proto_video.render` in canonical names. */
  has(hook: string): boolean;
  call(hook: string, args: readonly unknown[], options: CallOptions): Promise<Result<Json | undefined, HookFailure>>;
  /** True while the plugin takes no new submissions because it was killed too often. */
  suspended(): boolean;
  /**
   * The same plugin for trying: what has to be killed there does not suspend it, and its calls are
   * told to nobody.
   */
  onTrial(): LoadedPlugin;
}

/** What a request path means to the plugins' native routes. */
export type RouteMatch =
  | { kind: 'route'; plugin: LoadedPlugin; route: PluginRoute; params: Record<string, string> }
  /** The path is a plugin's, the method is not. */
  | { kind: 'method_not_allowed'; allow: RouteMethod[] };

/** All serving plugins at one moment. Never changes; a request keeps the one it began with. */
export interface Generation {
  readonly number: number;
  /** Unix seconds. */
  readonly publishedAt: number;
  readonly plugins: ReadonlyMap<string, LoadedPlugin>;
  byChannelType(type: number): LoadedPlugin | undefined;
  /** The plugin that claims `model` on a protocol, with its claim. */
  protocolOwner(protocol: ProtocolName, model: string): { plugin: LoadedPlugin; claim: ProtocolClaim } | undefined;
  /**
   * `path` as it stands in the URL: percent-encoded, trailing slash significant. `undefined`: no
   * plugin's path.
   */
  matchRoute(method: string, path: string): RouteMatch | undefined;
}

/** Pins a generation for one request: its plugins stay loadable until `release`. */
export type Pin = { generation: Generation; release(): void };
