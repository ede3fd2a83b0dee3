import { isDeepStrictEqual } from 'node:util';
import type { LoadedPlugin } from '../../plugins/index.ts';
import type { ChannelRecord, TaskRecord } from '../../store/ports/index.ts';
import type { VendorAnswer } from '../../vendors/index.ts';
import type { Verdict } from './types.ts';

/** Answers that are remembered, about 100 bytes each. Tasks beyond it are parsed at every poll. */
const MAX_KNOWN = 100_000;

type Known = { digest: bigint; sourceHash: string; polls: number };
type AnsweredPoll = { plugin: LoadedPlugin; channel: ChannelRecord; task: TaskRecord; answer: VendorAnswer };
type Running = Extract<Verdict, { kind: 'running' }>;

export type RepeatedAnswers = {
  /**
   * The verdict on an answer whose last parsing changed nothing, when nothing has been written to
   * the task since. The hook would return the same, so it is not called.
   */
  find(poll: AnsweredPoll): Pick<Running, 'kind' | 'status' | 'progress' | 'change'> | undefined;
  /**
   * Remembers the answer if its verdict leaves the task as it is. `isRepeatable`: the hooks would
   * return the same.
   */
  remember(poll: AnsweredPoll, parsing: { verdict: Verdict; isRepeatable: boolean }): void;
  size(): number;
};

/** Most polls get the same answer as the poll before: it is recognised by its digest. */
export function createRepeatedAnswers(): RepeatedAnswers {
  const known = new Map<string, Known>();

  const keep = (taskId: string, entry: Known): void => {
    known.delete(taskId);
    known.set(taskId, entry);
    if (known.size > MAX_KNOWN) known.delete(known.keys().next().value as string);
  };

  return {
    find({ plugin, channel, task, answer }) {
      const entry = known.get(task.taskId);
      const isSame =
        entry?.polls === task.polls &&
        entry.sourceHash === plugin.sourceHash &&
        entry.digest === digestAnswer(channel, answer);
      if (!isSame) return undefined;
      // The write of this poll adds one.
      keep(task.taskId, { ...entry, polls: task.polls + 1 });
      return { kind: 'running', status: task.status, progress: task.progress, change: {} };
    },
    remember({ plugin, channel, task, answer }, { verdict, isRepeatable }) {
      if (isRepeatable && changesNothing(task, verdict)) {
        const { sourceHash } = plugin;
        keep(task.taskId, { digest: digestAnswer(channel, answer), sourceHash, polls: task.polls + 1 });
      } else known.delete(task.taskId);
    },
    size: () => known.size,
  };
}

/** Then the next poll calls the hook with the same context. */
const changesNothing = (task: TaskRecord, verdict: Verdict): boolean =>
  verdict.kind === 'running' &&
  verdict.status === task.status &&
  (verdict.progress === '' || verdict.progress === task.progress) &&
  Object.entries(verdict.change).every(
    ([name, value]) => (name === 'data' || name === 'state') && isDeepStrictEqual(value, task[name]),
  );

/** What the hook sees of an answer. The channel's address is part of the hook's context. */
function digestAnswer({ baseUrl }: ChannelRecord, { status, headers, text }: VendorAnswer): bigint {
  const stable = Object.entries(headers).filter(([name]) => !isVaryingHeader(name));
  return BigInt(Bun.hash(JSON.stringify([baseUrl, status, stable]), BigInt(Bun.hash(text))));
}

/**
 * Response headers that differ from answer to answer and say nothing about the task. Whole names
 * only: a vendor may announce the end of a task by a header such as `x-result-id`.
 */
const VARYING_HEADERS: ReadonlySet<string> = new Set([
  // HTTP, and what gateways and networks add: RFC 9110, Cloudflare, Envoy, Kong, tracing.
  ...['date', 'age', 'expires', 'etag', 'set-cookie', 'server-timing', 'report-to', 'nel', 'cf-ray'],
  ...['x-envoy-upstream-service-time', 'x-kong-upstream-latency', 'x-kong-proxy-latency', 'x-runtime'],
  ...['traceparent', 'tracestate', 'x-b3-traceid', 'x-b3-spanid'],
  // OpenAI, and Azure.
  ...['openai-processing-ms', 'apim-request-id', 'x-ms-request-id', 'x-ms-client-request-id'],
  // Alibaba Cloud.
  ...['req-cost-time', 'req-arrive-time', 'resp-start-time', 'eagleid', 'eagleeye-traceid'],
  // Volcengine.
  ...['x-tt-logid', 'x-tt-trace-host', 'x-tt-trace-id', 'x-tt-trace-tag', 'x-client-request-id'],
  // MiniMax.
  ...['minimax-request-id', 'x-minimax-request-id', 'x-mm-request-id', 'x-session-id'],
  ...['alb_request_id', 'alb_receive_time'],
  // Amazon.
  ...['x-amz-request-id', 'x-amz-id-2', 'x-amz-cf-id', 'x-amzn-requestid', 'x-amzn-trace-id'],
]);
const VARYING_PATTERN =
  /^(?:x-)?(?:(?:request|trace|correlation|span)-?id|(?:response|processing|request)-?time)$|(?:^|-)rate-?limit(?:-|$)/;

/** `name`: in lower case. */
const isVaryingHeader = (name: string): boolean => VARYING_HEADERS.has(name) || VARYING_PATTERN.test(name);
