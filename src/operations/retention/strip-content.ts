import type { ContentChange, Repositories, TaskContent } from '../../store/ports/index.ts';

/** The parts of a task's content that have a retention of their own. */
export const CONTENT_PARTS = ['prompt', 'request', 'answer'] as const;
export type ContentPart = (typeof CONTENT_PARTS)[number];
/** All that is erased of a deleted account's task: why it was refused may quote its prompt. */
export const ERASED_PARTS = [...CONTENT_PARTS, 'failure'] as const;
export type ErasedPart = (typeof ERASED_PARTS)[number];

/**
 * The task without these parts; undefined where it has none of them. What its bill was made of
 * stays.
 */
function stripContent(task: TaskContent, parts: readonly ErasedPart[]): ContentChange | undefined {
  const { id, properties, execution, hasAnswer } = task;
  const stripped = { properties: { ...properties }, execution: { ...execution } };
  let changed = false;
  if (parts.includes('prompt') && properties.input !== '') {
    stripped.properties.input = '';
    changed = true;
  }
  const { request, inputs, response } = execution;
  if (parts.includes('request') && (request ?? inputs ?? response) !== undefined) {
    delete stripped.execution.request;
    delete stripped.execution.inputs;
    delete stripped.execution.response;
    changed = true;
  }
  if (parts.includes('failure') && execution.failure && execution.failure.message !== '') {
    stripped.execution.failure = { ...execution.failure, message: '' };
    changed = true;
  }
  const removesAnswer = parts.includes('answer') && (hasAnswer || execution.result !== undefined);
  if (removesAnswer) {
    delete stripped.execution.result;
    stripped.properties.expired = true;
    changed = true;
  }
  return changed ? { id, ...stripped, removesAnswer } : undefined;
}

/** Strips stored tasks of these parts, and returns how many it changed. */
export async function clearContent(
  tx: Repositories,
  ids: readonly number[],
  parts: readonly ErasedPart[],
): Promise<number> {
  const content = await tx.retention.readContent(ids);
  // A request goes with its files.
  for (const { taskId, execution } of parts.includes('request') ? content : []) {
    if (execution.inputs) await tx.results.forgetInputs(taskId);
  }
  return tx.retention.replaceContent(content.flatMap((task) => stripContent(task, parts) ?? []));
}
