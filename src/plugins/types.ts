import type { Json, JsonObject, Result, Secrets, StoredSentence } from '../kernel/index.ts';
import type { SandboxFailure } from '../sandbox/index.ts';

import type { TaskRecord } from '../store/ports/index.ts';

/** A text by canonical BCP-47 locale. There is always an `en`. */
export type LocalizedText = Record<string, string>;

export type UsageField =
  | { kind: 'enum'; values: string[]; enumLabels: Record<string, LocalizedText>; description?: LocalizedText }
  | {
      kind: 'number';
      unit: 'second' | 'count' | 'token' | 'credit';
      /** What is counted, such as `image`, where the unit is `count`. */
      unitLabel?: LocalizedText;
      description?: LocalizedText;
    }
  | { kind: 'boolean'; description?: LocalizedText };

/** The facts that prices can use, and complete examples of them. */
export type UsageDeclaration = {
  usageSchema: Record<string, UsageField>;
  usageExamples: { label: string; facts: JsonObject }[];
};

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
  /** False: the data of a result that is complete at once is not stored. */
  retainResult: boolean;
};

export type ProtocolName = 'proto_video' | 'proto_responses' | 'proto_image';
export type ResponsesMode = 'stream' | 'sync' | 'background';
export type ProtocolClaim = {
  name: ProtocolName;
  /**
   * The name that the plugin wrote: canonical, or an alias of new-api's contract. Hooks get it as
   * `ctx.protocol`.
   */
  writtenAs: string;
  supports: ResponsesMode[];
  /** The models that the claim names, or all of the plugin's. */
  models: string[];
};

/** A checked manifest: texts as maps, hosts in lower case, defaults filled in. */
export type Manifest = UsageDeclaration & {
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
  /** `host` or `host:port`, in lower case. Use `allowsHost` instead of comparing. */
  allowedHosts: string[];
  channelTypes: number[];
  protocols: ProtocolClaim[];
  routes: PluginRoute[];
  /** What some models have instead of `usageSchema` and `usageExamples`; see `findUsage`. */
  usageProfiles: (UsageDeclaration & { models: string[] })[];
  /** Whether the driver can address another gateway that has this plugin. */
  addressesGateways: boolean;
  submitResponseTypes: readonly ('json' | 'sse')[];
  requiredCapabilities: string[];
  auth: Json | undefined;
  hasArtifacts: boolean;
  /** Pointers to what hosts of the first version of the contract would refuse. */
  newerNames: readonly string[];
  /** What people who set the plugin up should know, and how the vendor counts what runs. */
  vendor?: VendorInfo;
};

/** The readable part of a plugin's `vendorInfo`, texts as maps. */
export type VendorInfo = {
  keyUrl?: string;
  /** The usual one first. */
  keyFormat?: string[];
  keyHelp?: LocalizedText;
  /** Suggested for new channels; see the channel's setting of this name. */
  notFoundGraceSeconds?: number;
  listPrices?: { url?: string; asOf?: string; models: Record<string, string> };
  /** How many places of an account a request takes; whether the vendor queues by itself. */
  capacity?: { slots?: string; queues: boolean };
  /** By the names of facts. */
  ranges?: Record<string, FactRanges>;
  /** Fields of requests besides `prompt` and the facts, by name. */
  inputs?: Record<string, RequestInput>;
  /** Short names of facts and inputs. */
  labels?: Record<string, LocalizedText>;
  examples: { label: LocalizedText; models?: string[]; request: JsonObject }[];
};

export type RequestInput = {
  type: InputType;
  required: boolean;
  description?: LocalizedText;
  example?: string;
  /** Undefined: all. */
  models?: string[];
};
/** All but `text` are files. */
export type InputType = 'text' | 'image' | 'video' | 'audio';

/** What a request may say of a fact: numbers, or one of `values`. `any`: what its type allows. */
export type FactRange =
  | { kind: 'numbers'; minimum: number; maximum: number; whole: boolean }
  | { kind: 'values'; values: (number | string)[] }
  | { kind: 'any' };
/** `null`: requests do not say it. `models` outranks `all`. */
export type FactRanges = { all: FactRange | null; models: Record<string, FactRange | null> };

/** What a plugin needs of a contract that this gateway does not know. */
export type ContractNeed =
  | { code: 'api'; version: number }
  | { code: 'field' | 'protocol' | 'hook' | 'capability'; name: string };

/**
 * A fault of a plugin. `path` is a JSON pointer into the manifest (`/routes/0/method`),
 * `exports/NAME`, or `source`. `rule` is a stable id for programs.
 */
export type PluginFault = Partial<StoredSentence> & {
  path: string;
  rule: string;
  message: string;
  hint?: string;
  hint_sentence?: StoredSentence;
  line?: number;
  column?: number;
  /** Set if a newer contract may have what this gateway does not know. */
  needs?: ContractNeed;
};

/** `invalid_result`: the hook ran, but its result breaks a rule of the contract. */
export type HookFailure = Omit<SandboxFailure, 'kind'> & {
  kind: SandboxFailure['kind'] | 'invalid_result';
  hook: string;
};

export type CallOptions = {
  /** On whose behalf the hook is called, as in the sandbox's `HookCall`. */
  owner: string;
  alreadyAdmitted?: boolean;
  /** Allows arguments of 16 MiB instead of 1 MiB, for hooks that carry bodies. */
  large?: boolean;
  admissionTimeoutMs?: number;
  signal?: AbortSignal;
  /** Redacted in every text that comes back. */
  secrets?: Secrets;
  /**
   * An equal call's result may be given instead of a new one, if it depends on its arguments alone.
   * Not for plugins in development, whose authors want to see every call.
   */
  reuse?: boolean;
  /** Called if the call failed, or if an equal call may return something else. */
  onVarying?: () => void;
};

/**
 * Where a serving plugin comes from, the lowest layer first. If plugins share a key, the one in the
 * highest layer serves.
 */
export type Layer = 'factory' | 'database' | 'development';

/** A finished call of a hook, for developers. Secrets that the call was given are redacted. */
export type HookCall = {
  key: string;
  version: string;
  /** As in `LoadedPlugin.call`. */
  hook: string;
  args: Json[];
  outcome:
    | { ok: true; value: Json | undefined }
    | ({ ok: false } & Pick<HookFailure, 'kind' | 'message' | 'line' | 'column'>);
  console: string[];
  /** Duration in milliseconds. The first call of a source includes loading it. */
  ms: number;
};

/** A plugin of one generation: manifest and callable hooks. */
export interface LoadedPlugin {
  readonly key: string;
  readonly version: string;
  readonly sourceHash: string;
  readonly source: string;
  readonly layer: Layer;
  readonly manifest: Manifest;
  /** `hook` is an export, or a path such as `protocols.proto_video.render` in canonical names. */
  has(hook: string): boolean;
  call(hook: string, args: readonly unknown[], options: CallOptions): Promise<Result<Json | undefined, HookFailure>>;
  /** Whether the plugin takes no new submissions because it was killed too often. */
  suspended(): boolean;
  /** This plugin for trials: kills do not suspend it, and its calls are not reported. */
  onTrial(): LoadedPlugin;
}

/** The native route that a request path leads to. */
export type RouteMatch =
  | { kind: 'route'; plugin: LoadedPlugin; route: PluginRoute; params: Record<string, string> }
  /** The path is a plugin's, but not with this method. */
  | { kind: 'method_not_allowed'; plugin: LoadedPlugin; allow: RouteMethod[] }
  /** No route has the path, but all routes with its first segment are this plugin's. */
  | { kind: 'not_found'; plugin: LoadedPlugin };

/** What decides which version reads a task. */
export type TaskOrigin = Pick<TaskRecord, 'platform' | 'sourceHash' | 'createdAt'>;

/** The versions that poll tasks and read their results: those that began them. */
export interface TaskPlugins {
  /** The version that serves the key, or the channel type, that the task names. */
  findServingPlugin(task: Pick<TaskOrigin, 'platform'>): LoadedPlugin | undefined;
  /** Loads the version if need be. Undefined: it cannot be had now. Never rejects. */
  findPlugin(task: TaskOrigin): Promise<LoadedPlugin | undefined>;
  /** Gives that version if it is loaded already. */
  findLoadedPlugin(task: TaskOrigin): LoadedPlugin | undefined;
  /**
   * Whether a version that `findPlugin` does not have may come back: its key is switched off, or
   * its source could not be loaded just now. Otherwise nothing can read the task's answer any more.
   */
  mayReturn(task: TaskOrigin): boolean;
}

/** All serving plugins at one moment. Immutable; a request keeps the generation it began with. */
export interface Generation extends TaskPlugins {
  readonly number: number;
  /** Unix seconds. */
  readonly publishedAt: number;
  /** The plugins that serve, by key. Submissions, routes and decoders go to them. */
  readonly plugins: ReadonlyMap<string, LoadedPlugin>;
  byChannelType(type: number): LoadedPlugin | undefined;
  /** The plugins that claim `model` on a protocol, with their claims, in order of their keys. */
  protocolOwners(protocol: ProtocolName, model: string): readonly { plugin: LoadedPlugin; claim: ProtocolClaim }[];
  /**
   * `path` is as in the URL: percent-encoded, with a significant trailing slash. `undefined`: the
   * path is no plugin's.
   */
  matchRoute(method: string, path: string): RouteMatch | undefined;
}

/** Pins a generation for one request: its plugins stay loadable until `release`. */
export type Pin = { generation: Generation; release(): void };
