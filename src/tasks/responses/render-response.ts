import type { JsonObject, Result } from '../../kernel/index.ts';
import {
  describeHookFailure,
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
import { issueArtifactLinks } from '../artifacts/issue-artifact-links.ts';
import { taskView } from '../state/describe-task.ts';
import { tooManyForUser } from '../submission/prepare-submission.ts';
import type { TaskDeps } from '../types.ts';
import { artifactContext } from '../vendor/build-contexts.ts';
import { failedResponse, NOT_OBSERVED, renderedResponse, TASK_FAILED } from './response-objects.ts';
import { createEventWriter } from './write-response-events.ts';

/**
 * Longest wait of a rendering for a free place in the sandbox: submissions and polls come before
 * those who look on.
 */
const ADMISSION_MS = 5000;

export type Rendering = {
  /** Undefined where the task's plugin serves no more, or answers no responses any longer. */
  plugin: LoadedPlugin | undefined;
  /** Without the artifacts, which a task has only in the end. */
  context: ProtocolContext;
  /** On whose behalf: the user of the task. */
  owner: string;
  /**
   * Nothing is bought by asking again: a plugin that is refused to its owner is told, not waited
   * for.
   */
  isRetrieval?: true;
  /** Ends the patience with an overloaded host. */
  signal: AbortSignal;
};

/** `hook`: the one that failed, or that could not be called. */
type Unrendered = Pick<HookFailure, 'kind' | 'message' | 'hook' | 'retryAfterMs'>;

/**
 * Calls until the host has room for it: what is not the plugin's fault costs the client a tick, not
 * the answer. Undefined: `signal` was aborted before that.
 */
async function patiently<T>(
  { clock, limits }: TaskDeps,
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

/** What the plugin says has happened since it returned `previous`. */
export const renderStep = (
  deps: TaskDeps,
  rendering: Rendering,
  task: TaskRecord,
  previous: RenderedEvents['state'],
): Promise<Result<RenderedEvents, string> | undefined> =>
  patiently(deps, rendering, async (options) => {
    const { plugin, context } = rendering;
    if (!plugin?.has('protocols.proto_responses.renderEvents')) return gone;
    const complete = await withArtifacts(deps, plugin, context, task, options);
    return complete.ok
      ? renderEvents(plugin, { ctx: complete.value, task: taskView(task), previous }, options)
      : complete;
  });

/**
 * The answer to a task that has ended, whatever the plugin makes of it. Undefined: `signal` was
 * aborted before the host had room.
 */
export async function renderEnded(
  deps: TaskDeps,
  rendering: Rendering,
  task: TaskRecord,
): Promise<JsonObject | undefined> {
  if (task.status === 'FAILURE') return failedResponse(task, TASK_FAILED);
  const { plugin } = rendering;
  const answer = plugin?.has('protocols.proto_responses.renderFinal')
    ? await patiently(deps, rendering, async (options) => {
        const complete = await withArtifacts(deps, plugin, rendering.context, task, options);
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
 * A plugin that only streams is asked for its events once, as if a stream began now. The answer is
 * what that stream's last event says.
 */
async function renderFromEvents(
  deps: TaskDeps,
  rendering: Rendering,
  task: TaskRecord,
): Promise<Result<JsonObject, string> | undefined> {
  const rendered = await renderStep(deps, rendering, task, undefined);
  if (!rendered?.ok) return rendered;
  const { events, fault } = createEventWriter(task).rendered(task, rendered.value);
  if (fault !== undefined) reportUnrendered(deps, task, fault);
  const last = events.at(-1);
  return last ? { ok: true, value: last.response as JsonObject } : { ok: false, error: 'the task has not succeeded' };
}

/** Says in the log why clients of this task could not be shown it. */
export const reportUnrendered = ({ logger }: TaskDeps, task: TaskRecord, reason: string): void =>
  logger.warn(
    { task_id: task.taskId, plugin: task.platform, reason },
    'a response could not be rendered by its plugin',
  );

const failure = (hook: string, message: string) => ({
  ok: false as const,
  error: { kind: 'invalid_result' as const, hook, message },
});
const gone = failure('renderEvents', 'the plugin of the task does not answer responses any longer');

/**
 * The context, at success with the artifacts by their keys, each with a link that works without a
 * key.
 */
async function withArtifacts(
  deps: TaskDeps,
  plugin: LoadedPlugin,
  context: ProtocolContext,
  task: TaskRecord,
  options: HookOptions,
): Promise<Result<ProtocolContext, Unrendered>> {
  if (task.status !== 'SUCCESS') return { ok: true, value: context };
  if (!plugin.manifest.hasArtifacts) return { ok: true, value: { ...context, artifacts: {} } };
  const listed = await listArtifacts(plugin, artifactContext(task), options);
  if (!listed.ok) return listed;
  const base = deps.publicAddress();
  if (base === undefined && listed.value.length > 0)
    return failure(
      'listArtifacts',
      'no public address is configured for artifact links: set ServerAddress or TaskPublicAddress',
    );
  if (listed.value.length === 0) return { ok: true, value: { ...context, artifacts: {} } };
  const linkTo = await issueArtifactLinks(deps, task, base ?? '');
  const artifacts = listed.value.map((artifact) => [artifact.key, { ...artifact, url: linkTo(artifact.key).url }]);
  return { ok: true, value: { ...context, artifacts: Object.fromEntries(artifacts) } };
}
