import type { TFunction } from 'i18next';
import type { TaskDetail, TaskSummary } from '../../api/types.ts';

/** The user's own latest tasks: the bell, Home and the playground read them once for all. */
export const latestTasksPath = '/api/task?page_size=20';

/** The task no longer changes. */
export const isFinished = ({ status }: { status: string }): boolean => status === 'SUCCESS' || status === 'FAILURE';

/**
 * When a task was sent, in Unix seconds. One that was refused before the vendor had it has no
 * submission time: then when it was created.
 */
export const sentAt = (task: Pick<TaskSummary, 'submit_time' | 'created_at'>): number =>
  task.submit_time > 0 ? task.submit_time : task.created_at;

/** How long a vendor had it, in seconds; null for a task that runs or that no vendor had. */
export const tookSeconds = (task: Pick<TaskSummary, 'status' | 'submit_time' | 'finish_time'>): number | null =>
  isFinished(task) && task.submit_time > 0 && task.finish_time > 0
    ? Math.max(0, task.finish_time - task.submit_time)
    : null;

/** From the request to the end, in seconds, as its timeline counts; null as above. */
export const wholeSeconds = (
  task: Pick<TaskSummary, 'status' | 'submit_time' | 'created_at' | 'finish_time'>,
): number | null => (tookSeconds(task) === null ? null : Math.max(0, task.finish_time - task.created_at));

/** Reasons that hold the vendor's words; an older task has no reason but its text. */
export const vendorReasons: readonly unknown[] = [undefined, 'plugin', 'tasks.vendor_said'];
const refusalReasons: readonly unknown[] = ['tasks.vendor_rejected', 'tasks.content_policy_violation'];
/** Statuses that concern the gateway's account at the vendor, or the moment. */
const notOfRequest: readonly number[] = [401, 402, 403, 408, 409, 429];

/** The vendor refused what was asked for: the same request would fail again. */
export function isRefusedByVendor(
  task: Pick<TaskDetail, 'status' | 'submit_time' | 'fail_reason_sentence' | 'timeline'>,
): boolean {
  if (task.status !== 'FAILURE') return false;
  const { reason, params } = task.fail_reason_sentence ?? {};
  if (refusalReasons.includes(reason)) return true;
  if (!vendorReasons.includes(reason)) return false;
  const end = task.timeline.findLast(({ status, kind }) => status === 'FAILURE' && kind === 'transition');
  const status = Number(params?.status ?? end?.http_status ?? 0);
  // A plugin that says why the vendor did not accept it names no status.
  if (status === 0) return reason === 'plugin' && task.submit_time === 0;
  return status >= 400 && status < 500 && !notOfRequest.includes(status);
}

/**
 * The content security policy allows this origin only: whatever public address a link has, and not
 * the bucket to which the gateway may redirect downloads.
 */
export const artifactPath = (url: string): string => toOwnPath(new URL(url, window.location.origin));

function toOwnPath(link: URL): string {
  link.searchParams.set('redirect', 'false');
  return `${link.pathname}${link.search}`;
}

/** The path of a link to a result. */
const resultPath = /^\/v1\/tasks\/[^/]+\/artifacts\/[^/]+\/content$/;

/**
 * Addresses of the pictures in an input that the browser may load: embedded ones, and results of
 * the gateway at one of `addresses`. No other site is asked, so none learns who looks.
 */
export function findPictures(input: unknown, addresses: readonly string[]): string[] {
  if (typeof input === 'object' && input !== null)
    return [...new Set(Object.values(input).flatMap((value) => findPictures(value, addresses)))];
  if (typeof input !== 'string') return [];
  if (/^data:image\//i.test(input)) return [input];
  if (!URL.canParse(input)) return [];
  const link = new URL(input);
  const isOwn = addresses.some((address) => URL.canParse(address) && new URL(address).origin === link.origin);
  return isOwn && resultPath.test(link.pathname) ? [toOwnPath(link)] : [];
}

/** "42%" as 42; null if the vendor reports no percentage. */
export function parsePercent(progress: string): number | null {
  const value = Number.parseFloat(progress);
  return Number.isFinite(value) ? Math.min(Math.max(value, 0), 100) : null;
}

/** What went wrong with an attempt, by its code; a code that is not known is shown. */
export function attemptError(code: string, t: TFunction): string {
  const key = `task.webhooks.error.${code}`;
  const text = (t as (key: string) => string)(key);
  return text === key ? code : text;
}

type Body = Readonly<Record<string, unknown>>;

/**
 * The body of `POST /v1/tasks/{plugin}` that orders the same; null where the request was not kept
 * or is another user's.
 */
export function readTaskBody({ request, model }: Pick<TaskDetail, 'request' | 'model'>): Body | null {
  const body = request?.body;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return null;
  return 'model' in body ? body : { model: request?.model ?? model, ...body };
}

type Difference = { path: string; before: string; after: string };

/** What a field that is not there shows. */
const absent = '–';

/** The fields in which two bodies differ, with their values as JSON. */
export function compareBodies(before: Body, after: Body): Difference[] {
  const [former, latter] = [flatten(before), flatten(after)];
  return [...new Set([...former.keys(), ...latter.keys()])].flatMap((path) => {
    const [was, is] = [former.get(path) ?? absent, latter.get(path) ?? absent];
    return was === is ? [] : [{ path, before: was, after: is }];
  });
}

function flatten(value: unknown, path = '', fields = new Map<string, string>()): Map<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    fields.set(path, typeof value === 'string' ? value : JSON.stringify(value));
    return fields;
  }
  for (const [name, child] of Object.entries(value)) flatten(child, path === '' ? name : `${path}.${name}`, fields);
  return fields;
}

/** For the quote of a stored request: shortens the files in it, which can be megabytes. */
export const withShortFiles = (body: Body): Body =>
  JSON.parse(JSON.stringify(body), (_, value: unknown) =>
    typeof value === 'string' ? value.replace(/^(data:[\w.+/-]+;base64,).*/s, '$1AAAA') : value,
  );
