import type { Json } from '../../kernel/index.ts';
import { describeHookFailure, type HookOptions, type NativeError, renderNativeError } from '../../plugins/index.ts';
import type { TaskDeps } from '../types.ts';
import { decodeContext } from '../vendor/build-contexts.ts';
import { answerNativeRequest, type NativeAnswer, type NativeCall } from './answer-native-request.ts';

/** A plugin's own route. All its calls use the plugin generation that served when it was opened. */
export type NativeRoute = {
  kind: 'route';
  type: 'submit' | 'query' | 'dynamic';
  /** The path as the plugin declares it, with `:name` segments. */
  pattern: string;
  params: Record<string, string>;
  /** Decodes the request, submits or looks up tasks, and presents them. Throws refusals. */
  answer(call: NativeCall): Promise<NativeAnswer>;
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

/** `allow`: the methods of the path, with HEAD where it can stand for GET. */
export type OpenedNativeRoute = NativeRoute | { kind: 'method_not_allowed'; allow: string[] };

/**
 * Finds the plugin route at `path`, which is percent-encoded as in the URL. HEAD stands for GET on
 * query routes only: on other routes a GET may submit. Undefined: no plugin has this path.
 */
export function openNativeRoute(deps: TaskDeps, method: string, path: string): OpenedNativeRoute | undefined {
  const pin = deps.pin();
  const { generation } = pin;
  let isPinned = false;
  try {
    const found = generation.matchRoute(method === 'HEAD' ? 'GET' : method, path);
    if (found?.kind === 'route' && (method !== 'HEAD' || found.route.type === 'query')) {
      const { plugin, route, params } = found;
      isPinned = true;
      return {
        kind: 'route',
        type: route.type,
        pattern: route.path,
        params,
        answer: (call) => answerNativeRequest(deps, { plugin, route, generation: generation.number }, call),
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
      };
    }
    if (!found) return undefined;
    // No route takes OPTIONS, so this always returns the methods of the path.
    const known = generation.matchRoute('OPTIONS', path);
    const get = generation.matchRoute('GET', path);
    const head = get?.kind === 'route' && get.route.type === 'query' ? ['HEAD'] : [];
    return { kind: 'method_not_allowed', allow: known?.kind === 'method_not_allowed' ? [...known.allow, ...head] : [] };
  } finally {
    if (!isPinned) pin.release();
  }
}
