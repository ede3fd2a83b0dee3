import type { Json } from '../../kernel/index.ts';
import {
  describeHookFailure,
  type Generation,
  type HookOptions,
  type LoadedPlugin,
  type NativeError,
  type Pin,
  renderNativeError,
} from '../../plugins/index.ts';
import { decodeContext } from '../../vendors/index.ts';
import type { SurfaceDeps } from '../types.ts';
import { answerNativeRequest, type NativeAnswer, type NativeCall } from './answer-native-request.ts';

/** A path of a plugin. All calls use the plugin generation that served when it was opened. */
export type NativePath = NativeRoute | NoRoute;

type PathCalls = {
  /**
   * An error in the format of the vendor's API; undefined when the plugin cannot present it. Never
   * rejects.
   */
  presentError(
    request: Parameters<typeof decodeContext>[0],
    error: NativeError,
    options: Pick<HookOptions, 'owner'>,
  ): Promise<Json | undefined>;
  /** Releases the generation. Call it once the request is answered. */
  release(): void;
};

/** A plugin's own route. */
export type NativeRoute = PathCalls & {
  kind: 'route';
  type: 'submit' | 'query' | 'dynamic';
  /** The path as the plugin declares it, with `:name` segments. */
  pattern: string;
  params: Record<string, string>;
  /** Decodes the request, submits or looks up tasks, and presents them. Throws refusals. */
  answer(call: NativeCall): Promise<NativeAnswer>;
};

/**
 * A path in a plugin's namespace that serves no such request. `allow`: the methods of the path,
 * with HEAD where it can stand for GET; none where no route has it.
 */
type NoRoute = PathCalls & { kind: 'no_route'; allow: string[] };

/**
 * Finds the plugin route at `path`, which is percent-encoded as in the URL. HEAD stands for GET on
 * query routes only: on other routes a GET may submit. Undefined: the path is no plugin's.
 */
export function openNativePath(deps: SurfaceDeps, method: string, path: string): NativePath | undefined {
  const pin = deps.pin();
  const { generation } = pin;
  let opened: NativePath | undefined;
  try {
    const found = generation.matchRoute(method === 'HEAD' ? 'GET' : method, path);
    if (!found) return undefined;
    const calls = pathCalls(deps, found.plugin, pin);
    if (found.kind === 'route' && (method !== 'HEAD' || found.route.type === 'query')) {
      const { plugin, route, params } = found;
      opened = {
        ...calls,
        kind: 'route',
        type: route.type,
        pattern: route.path,
        params,
        answer: (call) => answerNativeRequest(deps, { plugin, route, generation }, call),
      };
    } else opened = { ...calls, kind: 'no_route', allow: listMethods(generation, path) };
    return opened;
  } finally {
    if (!opened) pin.release();
  }
}

function listMethods(generation: Generation, path: string): string[] {
  // No route takes OPTIONS, so this never finds one.
  const known = generation.matchRoute('OPTIONS', path);
  const get = generation.matchRoute('GET', path);
  const head = get?.kind === 'route' && get.route.type === 'query' ? ['HEAD'] : [];
  return known?.kind === 'method_not_allowed' ? [...known.allow, ...head] : [];
}

const pathCalls = (deps: SurfaceDeps, plugin: LoadedPlugin, pin: Pin): PathCalls => ({
  async presentError(request, error, options) {
    const presented = await renderNativeError(plugin, { ctx: decodeContext(request), error }, options);
    if (presented.ok) return presented.value ?? undefined;
    deps.logger.warn(
      { plugin: plugin.key, reason: describeHookFailure(presented.error) },
      'plugin could not present an error',
    );
    return undefined;
  },
  release: () => pin.release(),
});
