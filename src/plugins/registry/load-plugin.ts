import {
  type Clock,
  createRedactor,
  err,
  type Json,
  type Logger,
  listRequestSecrets,
  listSecrets,
  mapSentence,
  ok,
  type Result,
  redactJson,
  sanitizeMessage,
} from '../../kernel/index.ts';
import {
  type ExportShape,
  MAX_RESULT_BYTES,
  type Sandbox,
  type SandboxFailure,
  type SandboxModule,
} from '../../sandbox/index.ts';
import { exportedSpelling } from '../manifest/check-exports.ts';
import { canonicalProtocol } from '../manifest/protocol-aliases.ts';
import type { HookCall, HookFailure, Layer, LoadedPlugin, Manifest, ProtocolName } from '../types.ts';
import type { CompiledPlugin } from '../worker/compile-plugin.ts';
import type { ExposureDetector } from './detect-exposed-credentials.ts';

/** Limit for arguments of hooks that carry bodies; for arguments and results of the others. */
export const MAX_ARGS_BYTES = 16 * 1024 * 1024;
const SMALL_BYTES = 1024 * 1024;

/** A manifest without all other models. A claim or route that loses all its models serves none. */
function narrowManifest(manifest: Manifest, models: readonly string[] | null): Manifest {
  if (models === null) return manifest;
  const keep = (names: readonly string[]): string[] => names.filter((name) => models.includes(name));
  return {
    ...manifest,
    models: keep(manifest.models),
    protocols: manifest.protocols.map((claim) => ({ ...claim, models: keep(claim.models) })),
    routes: manifest.routes.map((route) => (route.models ? { ...route, models: keep(route.models) } : route)),
  };
}

/** Splits a hook's name such as `protocols.proto_video.render`. After `native.` is one member. */
function splitHook(hook: string): string[] {
  const [first = '', ...rest] = hook.split('.');
  return first === 'native' && rest.length > 0 ? [first, rest.join('.')] : [first, ...rest];
}

/** Translates a path in canonical names to the module's: a protocol's key may be an alias. */
export function modulePath(path: readonly string[], exports: Record<string, ExportShape>): string[] {
  const [first = '', protocol, ...members] = path;
  if (first !== 'protocols' || protocol === undefined) return [...path];
  const own = exports.protocols?.members ?? {};
  if (Object.hasOwn(own, protocol)) return [...path];
  const canonical = canonicalProtocol(protocol) as ProtocolName;
  return [first, exportedSpelling(canonical, exports.protocols) ?? protocol, ...members];
}

function findShape(path: readonly string[], exports: Record<string, ExportShape>): ExportShape | undefined {
  let members: Record<string, ExportShape> | undefined = exports;
  let shape: ExportShape | undefined;
  for (const name of path) {
    shape = members && Object.hasOwn(members, name) ? members[name] : undefined;
    members = shape?.members;
  }
  return shape;
}

/** Removes the hook's name, because clients read the message. A plugin's own words stay. */
const withoutPath = (kind: SandboxFailure['kind'], text: string, path: readonly string[]): string =>
  kind === 'thrown' ? text : text.replaceAll(path.join('.'), 'the hook');

/**
 * The name under which the sandbox counts kills in trials of a version. So a kill in a trial
 * suspends neither the serving plugin nor trials of the version that fixes it.
 */
export const trialName = ({ key, version }: Manifest): string => `trial:${key}@${version}`;

/** Hooks that return a request with its credentials. */
export const REQUEST_HOOKS: ReadonlySet<string> = new Set([
  'buildSubmitRequest',
  'buildQueryRequest',
  'buildBatchQueryRequest',
  'buildContentRequest',
  'resolveArtifact',
  'buildBalanceRequest',
  'queryCapacity',
]);

/**
 * Makes a compiled plugin callable. The caller's secrets are redacted in its texts, and its console
 * goes to the debug log.
 */
export function loadPlugin(deps: {
  compiled: CompiledPlugin;
  layer: Layer;
  narrowedModels: readonly string[] | null;
  sandbox: Sandbox;
  clock: Clock;
  logger: Logger;
  onHookCall?: (call: HookCall) => void;
  credentials?: ExposureDetector;
  /** The name under which the sandbox counts its kills, instead of the plugin's key. */
  countedAs?: string;
}): LoadedPlugin {
  const { onHookCall, credentials, ...unobserved } = deps;
  const { compiled, sandbox, clock } = deps;
  const manifest = narrowManifest(compiled.manifest, deps.narrowedModels);
  const { key, version } = manifest;
  const paths = new Map<string, string[]>();
  const findPath = (hook: string): string[] => {
    let path = paths.get(hook);
    if (!path) {
      path = modulePath(splitHook(hook), compiled.exports);
      paths.set(hook, path);
    }
    return path;
  };
  const { countedAs = key } = deps;
  const isServing = deps.layer !== 'development';
  // Factory plugins unpack their source when it is first read, which no start should.
  const module: SandboxModule = {
    key: countedAs,
    version,
    get source() {
      return compiled.source;
    },
    sourceHash: compiled.sourceHash,
  };

  const logConsole = (hook: string, lines: readonly string[]): void => {
    for (const line of lines) deps.logger.debug({ task_plugin: 'console', hook }, `[plugin:${key}@${version}] ${line}`);
  };

  return {
    key,
    version,
    sourceHash: compiled.sourceHash,
    get source() {
      return compiled.source;
    },
    layer: deps.layer,
    manifest,
    has: (hook) => findShape(findPath(hook), compiled.exports)?.type === 'function',
    suspended: () => sandbox.isSuspended(countedAs),
    onTrial: () => loadPlugin({ ...unobserved, countedAs: trialName(manifest) }),
    async call(hook, args, options): Promise<Result<Json | undefined, HookFailure>> {
      const limit = options.large ? MAX_ARGS_BYTES : SMALL_BYTES;
      const startedAt = clock.monotonicMs();
      const outcome = await sandbox.call(module, {
        path: findPath(hook),
        args,
        owner: options.owner,
        ...(options.alreadyAdmitted ? { alreadyAdmitted: true } : {}),
        maxArgsBytes: limit,
        maxResultBytes: Math.min(limit, MAX_RESULT_BYTES),
        ...(options.admissionTimeoutMs === undefined ? {} : { admissionTimeoutMs: options.admissionTimeoutMs }),
        ...(options.signal === undefined ? {} : { signal: options.signal }),
        ...(options.reuse && isServing ? { reuse: true } : {}),
      });
      if (!(outcome.ok && outcome.value.repeatable && isServing)) options.onVarying?.();
      const findSecrets = () => [
        ...listSecrets(options.secrets ?? []),
        ...(outcome.ok && REQUEST_HOOKS.has(hook) ? listRequestSecrets(outcome.value.value) : []),
      ];
      credentials?.look(
        { key, version, sourceHash: compiled.sourceHash },
        {
          hook,
          args,
          console: (outcome.ok ? outcome.value : outcome.error).console,
          request: outcome.ok && REQUEST_HOOKS.has(hook) ? outcome.value.value : undefined,
        },
      );
      const clean = createRedactor(findSecrets);
      const console = (outcome.ok ? outcome.value : outcome.error).console.map(clean);
      logConsole(hook, console);
      const result: Result<Json | undefined, HookFailure> = outcome.ok
        ? ok(outcome.value.value)
        : err({
            ...outcome.error,
            ...mapSentence(outcome.error, (text) =>
              sanitizeMessage(clean(withoutPath(outcome.error.kind, text, findPath(hook)))),
            ),
            console,
            hook,
          });
      if (onHookCall === undefined) return result;
      const secrets = findSecrets();
      onHookCall({
        key,
        version,
        hook,
        console,
        ms: clock.monotonicMs() - startedAt,
        args: args.map((value) => redactJson(value, secrets) ?? null),
        outcome: result.ok
          ? { ok: true, value: redactJson(result.value, secrets) }
          : { ok: false, kind: result.error.kind, message: result.error.message, ...pickPlace(result.error) },
      });
      return result;
    },
  };
}

type Place = Pick<HookFailure, 'line' | 'column'>;

/** Where a hook failed, 1-based in the source, as far as it is known. */
export const pickPlace = ({ line, column }: Place): Place => ({
  ...(line === undefined ? {} : { line }),
  ...(column === undefined ? {} : { column }),
});
