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
const MAX_TEXT_BYTES = 1024 * 1024;
/** Reports of progress in a stream. Later ones are left out. */
const MAX_PROGRESS = 998;
const EVENTS_PER_OUTPUT = 6;

/**
 * The number of progress reports after which a task's streams have their outputs. The first stream
 * that has an output decides, and the others follow, so that a stream can be resumed on any node.
 */
export type OutputStart = {
  /** Stores the number unless one is stored, and returns the stored one. */
  keep(after: number): Promise<number>;
  /** The stream ends with an event that another stream will not have: outputs move up by one. */
  shift(): Promise<void>;
};

/** Serves one stream that nobody resumes. */
const UNSHARED: OutputStart = { keep: async (after) => after, shift: async () => {} };

type Beginning = {
  outputStart?: OutputStart;
  /** The number of the last event that the client has; -1: none. */
  startingAfter?: number;
  /** The number that `outputStart` keeps, if it is known already. */
  outputsAfter?: number | undefined;
};

/**
 * Writes one stream's events in OpenAI's form and numbers them one by one: 0 is its creation, then
 * come reports of progress, then six events for each output, then the end. No step may follow one
 * that is over. A stream that is resumed is written again, and only what its client lacks is sent.
 */
export function createEventWriter(
  first: TaskRecord,
  { outputStart = UNSHARED, startingAfter = -1, outputsAfter }: Beginning = {},
) {
  // Without outputs, everything that the client has are reports of progress.
  let progressed = Math.min(Math.max(0, startingAfter), outputsAfter ?? MAX_PROGRESS);
  let base = outputsAfter;
  let textBytes = 0;
  const output: JsonObject[] = [];
  const metadata: Record<string, string> = {};

  const event = (type: string, sequence: number, members: JsonObject): ResponseEvent => ({
    type: `response.${type}`,
    sequence_number: sequence,
    ...members,
  });
  const details = () => ({ output: [...output], metadata });
  const next = () => (output.length > 0 ? (base ?? 0) + output.length * EVENTS_PER_OUTPUT : progressed) + 1;
  /** The client may have more events than its task had when they were numbered. */
  const ending = (type: string, response: JsonObject): ResponseEvent =>
    event(type, Math.max(next(), startingAfter + 1), { response });
  /** The stream ends, and its client may resume it. */
  async function interrupt(type: string, response: JsonObject): Promise<ResponseEvent> {
    if (output.length > 0) await outputStart.shift();
    return ending(type, response);
  }
  const failed = (task: TaskRecord, message: string) => interrupt('failed', failedResponse(task, message, details()));

  function report(task: TaskRecord): ResponseEvent {
    progressed += 1;
    return event('in_progress', progressed, { response: responseObject(task, 'in_progress', { metadata }) });
  }

  function progress(task: TaskRecord, { progress: percent, message }: Extract<RenderedEvent, { type: 'progress' }>) {
    if (percent !== undefined) metadata.task_progress = String(percent);
    if (message !== undefined) metadata.task_message = message;
    // This snapshot has no output: clients that keep only the latest snapshot would lose theirs.
    return output.length > 0 || progressed >= (base ?? MAX_PROGRESS) ? [] : [report(task)];
  }

  /** Numbers outputs as in the task's other streams, which may have had more to report. */
  async function startOutputs(task: TaskRecord): Promise<ResponseEvent[]> {
    base = Math.max(progressed, await outputStart.keep(progressed));
    const missing: ResponseEvent[] = [];
    while (progressed < base) missing.push(report(task));
    return missing;
  }

  /** A text arrives in one piece, but goes through all stages of a text that is streamed. */
  function message(task: TaskRecord, text: string): ResponseEvent[] {
    const index = output.length;
    const from = next();
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
    async rendered(task: TaskRecord, { events, done }: RenderedEvents): Promise<Step> {
      const error = findExceededLimit(events);
      if (error !== undefined) return { events: [await failed(task, NOT_OBSERVED)], over: true, error };
      const written: ResponseEvent[] = [];
      for (const rendered of events) {
        if (rendered.type === 'progress') written.push(...progress(task, rendered));
        else if (rendered.type === 'output') {
          if (output.length === 0) written.push(...(await startOutputs(task)));
          written.push(...message(task, rendered.text));
        } else {
          const said = task.status === 'SUCCESS' ? NOT_OBSERVED : TASK_FAILED;
          return { events: [...written, await failed(task, said)], over: true };
        }
      }
      if (task.status === 'SUCCESS') {
        // Without `metadata`: progress means nothing for a complete response, and a later retrieval
        // could not repeat it.
        const response = completedResponse(task, { output: [...output] });
        return { events: [...written, ending('completed', response)], over: true };
      }
      return done
        ? { events: [...written, await this.incomplete(task)], over: true }
        : { events: written, over: false };
    },

    /** The task has failed. */
    failed: (task: TaskRecord) => failed(task, TASK_FAILED),

    /** The plugin could not render, which says nothing about the task. */
    unobserved: (task: TaskRecord) => failed(task, NOT_OBSERVED),

    /** The stream ends before the task does. Clients can retrieve the response later. */
    incomplete: (task: TaskRecord) =>
      interrupt('incomplete', responseObject(task, 'incomplete', { ...details(), ended: true })),
  };
}
