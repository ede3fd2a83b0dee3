/**
 * Renders a task as a response of OpenAI's Responses API by the hooks of its plugin: as events for
 * a stream, or whole once the task has ended.
 */
import type { JsonObject, Result } from '../../kernel/index.ts';
import {
  describeHookFailure,
  type Generation,
  type HookFailure,
  type HookOptions,
  isHostFailure,
  type LoadedPlugin,
  listArtifacts,
  type ProtocolContext,
  type RenderedEvents,
  renderEvents,
  renderFinal,
} from '../../plugins/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { taskView } from '../../tasks/index.ts';
import { artifactContext, tooManyForUser } from '../../vendors/index.ts';
import { findRenderer } from '../find-renderer.ts';
import type { SurfaceDeps } from '../types.ts';
import { failedResponse, NOT_OBSERVED, renderedResponse, TASK_FAILED } from './response-objects.ts';
import { createEventWriter } from './write-response-events.ts';

/** Longest wait of one rendering for a free sandbox process. Submissions and polls go first. */
const ADMISSION_MS = 5000;

export type Rendering = {
  /** Undefined when the task's plugin no longer serves. */
  plugin: LoadedPlugin | undefined;
  /** Without artifacts, which only an ended task has. */
  context: ProtocolContext;
  /** The task's user, on whose behalf the hooks are called. */
  owner: string;
  /**
   * The request only reads: when the plugin is refused to this user, it fails at once instead of
   * waiting.
   */
  isRetrieval?: true;
  /** The deadline for waiting until the sandbox is available. */
  signal: AbortSignal;
};

/** `hook`: the one that failed, or that could not be called. */
type Unrendered = Pick<HookFailure, 'kind' | 'message' | 'hook' | 'retryAfterMs'>;

/**
 * Repeats `call` until the sandbox has capacity: a failure that is not the plugin's fault costs the
 * client one tick, not the answer. Undefined: `signal` was aborted first.
 */
async function callWhenAvailable<T>(
  { clock, limits }: SurfaceDeps,
  { owner, signal, isRetrieval }: Rendering,
  call: (options: HookOptions) => Promise<Result<T, Unrendered>>,
): Promise<Result<T, string> | undefined> {
  while (!signal.aborted) {
    const result = await call({ owner, admissionTimeoutMs: ADMISSION_MS, signal });
    if (result.ok) return result;
    if (isRetrieval && result.error.kind === 'owner_refused') throw tooManyForUser(result.error);
    if (!isHostFailure(result.error)) return { ok: false, error: describeHookFailure(result.error) };
    await clock.sleep(limits.tickMs, signal);
  }
  return undefined;
}

/** A task that no plugin can render any more shows its stored outcome alone. */
const NOTHING: RenderedEvents = { events: [], done: false };

/** Renders the events since the plugin returned the state `previous`. */
export const renderStep = (
  deps: SurfaceDeps,
  rendering: Rendering,
  { task, previous }: { task: TaskRecord; previous: RenderedEvents['state'] },
): Promise<Result<RenderedEvents, string> | undefined> =>
  callWhenAvailable(deps, rendering, async (options) => {
    const { plugin, context } = rendering;
    if (!plugin?.has('protocols.proto_responses.renderEvents')) return { ok: true, value: NOTHING };
    const complete = await withArtifacts(deps, { plugin, context, task, options });
    return complete.ok
      ? renderEvents(plugin, { ctx: complete.value, task: taskView(task), previous }, options)
      : complete;
  });

/**
 * Renders a task that has ended; a failing plugin gives a failed response, a missing one the stored
 * outcome without output. Undefined: `signal` was aborted before the sandbox had capacity.
 */
export async function renderEnded(
  deps: SurfaceDeps,
  rendering: Rendering,
  task: TaskRecord,
): Promise<JsonObject | undefined> {
  if (task.status === 'FAILURE') return failedResponse(task, TASK_FAILED);
  const { plugin } = rendering;
  const answer = plugin?.has('protocols.proto_responses.renderFinal')
    ? await callWhenAvailable(deps, rendering, async (options) => {
        const complete = await withArtifacts(deps, { plugin, context: rendering.context, task, options });
        if (!complete.ok) return complete;
        const final = await renderFinal(plugin, { ctx: complete.value, task: taskView(task) }, options);
        return final.ok ? { ok: true, value: renderedResponse(task, final.value) } : final;
      })
    : await renderFromEvents(deps, rendering, task);
  if (!answer || answer.ok) return answer?.value;
  reportUnrendered(deps, task, answer.error);
  return failedResponse(task, NOT_OBSERVED);
}

/**
 * For plugins that can only stream: renders the events once, as if a stream began now. The answer
 * is the response in the last event.
 */
async function renderFromEvents(
  deps: SurfaceDeps,
  rendering: Rendering,
  task: TaskRecord,
): Promise<Result<JsonObject, string> | undefined> {
  const rendered = await renderStep(deps, rendering, { task, previous: undefined });
  if (!rendered?.ok) return rendered;
  const { events, error } = await createEventWriter(task).rendered(task, rendered.value);
  if (error !== undefined) reportUnrendered(deps, task, error);
  const last = events.at(-1);
  return last ? { ok: true, value: last.response as JsonObject } : { ok: false, error: 'the task has not succeeded' };
}

/** The version that renders a response: as events where it is a `stream`. */
export const findResponseRenderer = (
  generation: Generation,
  task: TaskRecord,
  stream = false,
): Promise<LoadedPlugin | undefined> => {
  const whole = stream ? [] : ['protocols.proto_responses.renderFinal'];
  return findRenderer(generation, task, ...whole, 'protocols.proto_responses.renderEvents');
};

/** Logs why the task could not be shown to its clients. */
export const reportUnrendered = ({ logger }: SurfaceDeps, task: TaskRecord, reason: string): void =>
  logger.warn({ task_id: task.taskId, plugin: task.platform, reason }, 'plugin could not render a response');

const failure = (hook: string, message: string) => ({
  ok: false as const,
  error: { kind: 'invalid_result' as const, hook, message },
});

type Projection = { plugin: LoadedPlugin; context: ProtocolContext; task: TaskRecord; options: HookOptions };

/**
 * The context of a successful task with its artifacts by key, each with a link that works without
 * an API key. The context of any other task unchanged.
 */
async function withArtifacts(
  deps: SurfaceDeps,
  { plugin, context, task, options }: Projection,
): Promise<Result<ProtocolContext, Unrendered>> {
  if (task.status !== 'SUCCESS') return { ok: true, value: context };
  if (!plugin.manifest.hasArtifacts) return { ok: true, value: { ...context, artifacts: {} } };
  const listed = await listArtifacts(plugin, artifactContext(task), { ...options, reuse: true });
  if (!listed.ok) return listed;
  const base = deps.results.publicAddress();
  if (base === undefined && listed.value.length > 0)
    return failure(
      'listArtifacts',
      'no public address is set for artifact links: set ServerAddress or TaskPublicAddress',
    );
  if (listed.value.length === 0) return { ok: true, value: { ...context, artifacts: {} } };
  const linkTo = await deps.results.issueLinks(task, { base: base ?? '' });
  const artifacts = listed.value.map((artifact) => [artifact.key, { ...artifact, url: linkTo(artifact.key).url }]);
  return { ok: true, value: { ...context, artifacts: Object.fromEntries(artifacts) } };
}
