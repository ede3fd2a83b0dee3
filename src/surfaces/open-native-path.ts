import { isObject, type Json, userOwner } from '../kernel/index.ts';
import {
  callNativeError,
  callNativeRender,
  type DecodedSubmit,
  decodeNativeRequest,
  describeHookFailure,
  findUnservedModel,
  type Generation,
  type HookFailure,
  type HookOptions,
  isHostFailure,
  type LoadedPlugin,
  type NativeError,
  type Pin,
  type PluginRoute,
  servesPlatform,
} from '../plugins/index.ts';
import { hasEnded, type TaskRecord } from '../store/ports/index.ts';
import {
  type Caller,
  type ClientRequest,
  findOwnTasks,
  forbidUnsafeRetry,
  hideTask,
  resolveOriginTasks,
  submitOnce,
  submitTask,
  submittedObject,
  taskErrors,
  taskView,
  traceEvent,
} from '../tasks/index.ts';
import { decodeContext, hookCause, hookError, vendorErrors } from '../vendors/index.ts';
import { surfaceErrors } from './errors.ts';
import { findServedModel } from './list-models.ts';
import type { SurfaceDeps } from './types.ts';

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
    const presented = await callNativeError(plugin, { ctx: decodeContext(request), error }, options);
    if (presented.ok) return presented.value ?? undefined;
    deps.logger.warn(
      { plugin: plugin.key, reason: describeHookFailure(presented.error) },
      'plugin could not present an error',
    );
    return undefined;
  },
  release: () => pin.release(),
});

type NativeCall = {
  caller: Caller;
  requestId: string;
  request: ClientRequest;
  /** Called with the model before a submission. Throw in it to refuse. */
  admit: (model: string) => Promise<void>;
};

/** `replayed`: the answer to an earlier request with the same Idempotency-Key. */
type NativeAnswer = { body: Json; replayed: boolean };

const hookOptions = ({ caller }: NativeCall) => ({ owner: userOwner(caller.user.id) });

type View = Parameters<typeof callNativeRender>[1]['task'];
type MatchedRoute = { plugin: LoadedPlugin; route: PluginRoute; generation: Generation };

/**
 * Answers a request to a plugin's own route: decodes it, submits or looks up tasks, and presents
 * them. Only the caller's own tasks of this plugin are found.
 * @throws tasks.task_not_found, .model_required, .model_not_served, .plugin_presenter_failed, and
 * what submissions throw
 */
async function answerNativeRequest(deps: SurfaceDeps, matched: MatchedRoute, call: NativeCall): Promise<NativeAnswer> {
  const { plugin, route } = matched;
  const { request } = call;
  traceEvent(deps.logger, 'route_match', {
    request_id: call.requestId,
    plugin: plugin.key,
    version: plugin.version,
    generation: matched.generation.number,
    route: route.path,
    type: route.type,
  });
  if (route.type === 'query') {
    const ids = [request.params[route.taskIdParam] ?? ''];
    const [task] = await lookUp(deps, { ...matched, call, ids });
    if (!task) return { body: null, replayed: false };
    return { body: await present(matched, call, { tasks: [task], view: taskView(task) }), replayed: false };
  }
  if (route.models) checkRouteModel(deps, matched, call);
  const decoded = await decodeNativeRequest(plugin, { route, ctx: decodeContext(request) }, hookOptions(call));
  if (!decoded.ok) throw hookError(decoded.error);
  if (decoded.value.kind === 'query') {
    const tasks = await lookUp(deps, { ...matched, call, ids: decoded.value.taskIds });
    return { body: await present(matched, call, { tasks, view: tasks.map(taskView) }), replayed: false };
  }
  return submit(deps, { matched, call, decoded: decoded.value });
}

async function submit(
  deps: SurfaceDeps,
  { matched, call, decoded }: { matched: MatchedRoute; call: NativeCall; decoded: DecodedSubmit },
): Promise<NativeAnswer> {
  const { plugin, route, generation } = matched;
  const { caller, requestId, request } = call;
  const { model, action = '', requestBody } = decoded;
  const served = findServedModel(deps.vendors, { plugin, caller, model });
  const unserved = findUnservedModel(plugin.manifest, route, served);
  if (unserved !== undefined) throw surfaceErrors.model_not_served({ message: unserved, param: 'model' });
  await call.admit(model);
  const attachedUntilMs = deps.clock.monotonicMs() + deps.limits.submitWaitMs;
  const { replayed, ...task } = await submitOnce(deps, { caller, request, attachedUntilMs }, async (idempotency) =>
    submitTask(deps, {
      surface: 'native',
      caller,
      requestId,
      plugin,
      generation: generation.number,
      request,
      intent: { model, action, requestBody },
      idempotency,
      attachedUntilMs,
      retainResult: route.retainResult,
      originTasks: await resolveOriginTasks(deps, { caller, plugin, named: decoded.originTaskIds }),
    }),
  );
  // The task is bought: no failure from here on may make the client order again.
  return forbidUnsafeRetry(async (state) => {
    state.vendorMayHaveJob = !replayed;
    const presented = await callNativeRender(
      await findPresenter(matched, [task]),
      { route, ctx: decodeContext(request), task: taskView(task) },
      hookOptions(call),
    );
    if (!route.retainResult) await discard(deps, task);
    if (presented.ok) return { body: presented.value, replayed };
    // The client must get its id, even in another form.
    const reason = describeHookFailure(presented.error);
    deps.logger.warn({ task_id: task.taskId, reason }, 'plugin could not present a submitted task');
    return { body: submittedObject(task), replayed };
  });
}

/** Hides the task of a route that retains no results; one that is not complete at once is kept. */
async function discard(deps: SurfaceDeps, task: TaskRecord): Promise<void> {
  if (hasEnded(task)) await hideTask(deps, task, { retained: false });
  else deps.logger.warn({ task_id: task.taskId }, 'a route that retains no results began a task; its result is kept');
}

type Lookup = Pick<MatchedRoute, 'plugin' | 'generation'> & { call: NativeCall; ids: readonly string[] };

/** The caller's tasks of this plugin in the order of the ids. @throws tasks.task_not_found */
async function lookUp(deps: SurfaceDeps, { plugin, generation, call, ids }: Lookup) {
  const tasks = await findOwnTasks(deps, call.caller.user.id, ids);
  if (!tasks?.every(({ platform }) => servesPlatform(generation, plugin, platform))) throw taskErrors.task_not_found();
  return tasks;
}

/**
 * The version that presents tasks: the one that began them all, where it has the route's presenter.
 * Otherwise it is the version whose route it is.
 */
async function findPresenter(
  { plugin, route, generation }: MatchedRoute,
  tasks: readonly TaskRecord[],
): Promise<LoadedPlugin> {
  const [own, ...others] = new Set(await Promise.all(tasks.map((task) => generation.findPlugin(task))));
  return own?.has(`native.${route.render}`) && others.length === 0 ? own : plugin;
}

async function present(
  matched: MatchedRoute,
  call: NativeCall,
  { tasks, view }: { tasks: readonly TaskRecord[]; view: View },
): Promise<Json> {
  const { route } = matched;
  const presented = await callNativeRender(
    await findPresenter(matched, tasks),
    { route, ctx: decodeContext(call.request), task: view },
    { ...hookOptions(call), reuse: true },
  );
  if (presented.ok) return presented.value;
  throw presenterError(presented.error, view);
}

function presenterError(failure: HookFailure, view: View) {
  // A hundred tasks of a megabyte each are too much for a hook. The client can ask for fewer.
  if (failure.kind === 'too_large' && Array.isArray(view) && view.length > 1) return surfaceErrors.tasks_too_large();
  if (failure.kind === 'thrown' || failure.kind === 'owner_refused') return hookError(failure);
  const cause = hookCause(failure);
  if (isHostFailure(failure)) return vendorErrors.plugin_unavailable({ retryAfterSeconds: 5, cause });
  return surfaceErrors.plugin_presenter_failed({ cause });
}

/** Runs before any plugin code: the body's `model` must be one of the route's, or mapped to one. */
function checkRouteModel(deps: SurfaceDeps, { plugin, route }: MatchedRoute, { caller, request }: NativeCall): void {
  const model = bodyModel(request.body);
  if (model === undefined) throw taskErrors.model_required({ param: 'model' });
  if (route.models?.includes(findServedModel(deps.vendors, { plugin, caller, model }))) return;
  throw surfaceErrors.model_not_served({
    message: `The model ${JSON.stringify(model.slice(0, 120))} is not served on this route.`,
    param: 'model',
  });
}

/** Undefined when the model is missing, not a text, or given more than once. A blank one counts. */
function bodyModel(body: ClientRequest['body']): string | undefined {
  if (body.kind === 'none') return undefined;
  if (body.kind === 'json') {
    return isObject(body.value) && typeof body.value.model === 'string' ? body.value.model : undefined;
  }
  const [model, ...others] = body.fields.model ?? [];
  return others.length === 0 ? model : undefined;
}
