import type { Json, JsonObject } from '../../kernel/index.ts';
import type { RenderedEvent, RenderedEvents } from '../../plugins/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { completedResponse, failedResponse, NOT_OBSERVED, responseObject, TASK_FAILED } from './response-objects.ts';

export type ResponseEvent = { type: string; sequence_number: number; [member: string]: Json };

/**
 * The events of one rendering. `over`: the stream has ended. `error`: what the plugin did wrong,
 * for the log.
 */
export type Step = { events: ResponseEvent[]; over: boolean; error?: string };

/** Limits for a whole stream (as in new-api). */
const MAX_OUTPUTS = 64;

/**
 * The number of an event follows from what it tells, so that a stream can be resumed on any node
 * without storing it: 0 is its creation, then come reports of progress, then eight numbers for each
 * output. The last of them, and the last before the first output, are of a stream that ends there
 * although its task goes on.
 */
const OUTPUTS_FROM = 1000;
const NUMBERS_PER_OUTPUT = 8;
const MAX_PROGRESS = OUTPUTS_FROM - 2;
const LAST = OUTPUTS_FROM + MAX_OUTPUTS * NUMBERS_PER_OUTPUT;
const MAX_TEXT_BYTES = 1024 * 1024;

/**
 * Writes one stream's events in OpenAI's form, in ascending numbers. No step may follow one that is
 * over. `startingAfter`: the last number that the client has; the writer begins anew, and reports
 * progress with higher numbers.
 */
export function createEventWriter(first: TaskRecord, startingAfter = 0) {
  let progressed = Math.min(startingAfter, MAX_PROGRESS);
  let textBytes = 0;
  const output: JsonObject[] = [];
  const metadata: Record<string, string> = {};

  const event = (type: string, sequence: number, members: JsonObject): ResponseEvent => ({
    type: `response.${type}`,
    sequence_number: sequence,
    ...members,
  });
  const details = () => ({ output: [...output], metadata });
  /** Of the event that ends the stream before its task. */
  const interruption = () => OUTPUTS_FROM + output.length * NUMBERS_PER_OUTPUT - 1;
  const failed = (task: TaskRecord, message: string, sequence = LAST): ResponseEvent =>
    event('failed', sequence, { response: failedResponse(task, message, details()) });

  function progress(task: TaskRecord, { progress: percent, message }: Extract<RenderedEvent, { type: 'progress' }>) {
    if (percent !== undefined) metadata.task_progress = String(percent);
    if (message !== undefined) metadata.task_message = message;
    // This snapshot has no output: clients that keep only the latest snapshot would lose theirs.
    if (output.length > 0 || progressed >= MAX_PROGRESS) return [];
    progressed += 1;
    return [event('in_progress', progressed, { response: responseObject(task, 'in_progress', { metadata }) })];
  }

  /** A text comes whole, but goes through all stages of a text that is streamed in pieces. */
  function message(task: TaskRecord, text: string): ResponseEvent[] {
    const index = output.length;
    const from = OUTPUTS_FROM + index * NUMBERS_PER_OUTPUT;
    const id = `msg_${task.taskId}_${index}`;
    const item = { id, type: 'message', role: 'assistant' };
    const part = { id: `content_${task.taskId}_${index}`, type: 'output_text', annotations: [], logprobs: [] };
    const at = { output_index: index, content_index: 0, item_id: id };
    const done = { ...item, status: 'completed', content: [{ ...part, text }] };
    output.push(done);
    return [
      event('output_item.added', from, { output_index: index, item: { ...item, status: 'in_progress', content: [] } }),
      event('content_part.added', from + 1, { ...at, part: { ...part, text: '' } }),
      event('output_text.delta', from + 2, { ...at, delta: text, logprobs: [] }),
      event('output_text.done', from + 3, { ...at, text, logprobs: [] }),
      event('content_part.done', from + 4, { ...at, part: { ...part, text } }),
      event('output_item.done', from + 5, { output_index: index, item: done }),
    ];
  }

  /** Checks the limits of the whole stream, which no single call can exceed. */
  function findExceededLimit(events: readonly RenderedEvent[]): string | undefined {
    const texts = events.flatMap((rendered) => (rendered.type === 'output' ? [rendered.text] : []));
    if (output.length + texts.length > MAX_OUTPUTS) return `more than ${MAX_OUTPUTS} outputs`;
    textBytes += texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    return textBytes > MAX_TEXT_BYTES ? 'more than 1 MiB of text' : undefined;
  }

  return {
    created: (): ResponseEvent =>
      event('created', 0, { response: responseObject(first, 'in_progress', { taskStatus: 'queued' }) }),

    /** The plugin rendered the current state of a task that has not failed. */
    rendered(task: TaskRecord, { events, done }: RenderedEvents): Step {
      const error = findExceededLimit(events);
      if (error !== undefined) return { events: [failed(task, NOT_OBSERVED)], over: true, error };
      const written: ResponseEvent[] = [];
      for (const rendered of events) {
        if (rendered.type === 'progress') written.push(...progress(task, rendered));
        else if (rendered.type === 'output') written.push(...message(task, rendered.text));
        else return { events: [...written, failed(task, TASK_FAILED)], over: true };
      }
      if (task.status === 'SUCCESS') {
        // Without `metadata`: progress means nothing for a complete response, and a later retrieval
        // could not repeat it.
        const response = completedResponse(task, { output: [...output] });
        return { events: [...written, event('completed', LAST, { response })], over: true };
      }
      return done ? { events: [...written, this.incomplete(task)], over: true } : { events: written, over: false };
    },

    /** The task has failed. */
    failed: (task: TaskRecord): ResponseEvent => failed(task, TASK_FAILED),

    /** The plugin could not render, which says nothing about the task. */
    unobserved: (task: TaskRecord): ResponseEvent => failed(task, NOT_OBSERVED, interruption()),

    /** The stream ends before the task does. Clients can retrieve the response later. */
    incomplete: (task: TaskRecord): ResponseEvent =>
      event('incomplete', interruption(), {
        response: responseObject(task, 'incomplete', { ...details(), ended: true }),
      }),
  };
}
