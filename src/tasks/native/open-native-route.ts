import type { Json } from '../../kernel/index.ts';
import { describeHookFailure, type HookOptions, type NativeError, renderNativeError } from '../../plugins/index.ts';
import type { TaskDeps } from '../types.ts';
import { decodeContext } from '../vendor/build-contexts.ts';
import { answerNativeRequest, type NativeAnswer, type NativeCall } from './answer-native-request.ts';

/**
 * A plugin's own route at an address. What it does is done by the generation that served when it
 * was opened.
 */
export type NativeRoute = {
  kind: 'route';
  type: 'submit' | 'query' | 'dynamic';
  /** As the plugin declares it, with `:name` segments. */
  pattern: string;
  params: Record<string, string>;
  /** Decodes, submits or looks up, presents. Throws what is refused. */
  answer(call: NativeCall): Promise<NativeAnswer>;
  /**
   * A failure in the vendor's own words; undefined where the plugin has none or fails at it. Never
   * rejects.
   */
  presentError(
    request: Parameters<typeof decodeContext>[0],
    error: NativeError,
    options: Pick<HookOptions, 'owner'>,
  ): Promise<Json | undefined>;
  /** Lets go of the generation; called once the request is answered. */
  release(): void;
};

/** `allow`: the methods that the path takes, HEAD where it is as good as GET. */
export type OpenedNativeRoute = NativeRoute | { kind: 'method_not_allowed'; allow: string[] };

/**
 * The route of a serving plugin at `path`, which is percent-encoded as in the URL. HEAD stands for
 * GET on query routes alone: on the others a GET may submit. Undefined: no plugin's path.
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
            'a plugin could not present an error',
          );
          return undefined;
        },
        release: () => pin.release(),
      };
    }
    if (!found) return undefined;
    // No route takes OPTIONS, so this tells the path's methods whatever was asked for.
    const known = generation.matchRoute('OPTIONS', path);
    const get = generation.matchRoute('GET', path);
    const head = get?.kind === 'route' && get.route.type === 'query' ? ['HEAD'] : [];
    return { kind: 'method_not_allowed', allow: known?.kind === 'method_not_allowed' ? [...known.allow, ...head] : [] };
  } finally {
    if (!isPinned) pin.release();
  }
}
