import { t } from 'elysia';
import type { RelayTaskPage } from '../../relay/index.ts';
import type { Tasks } from '../../tasks/index.ts';
import { readInteger } from '../pipeline/paging.ts';
import { integerText, strictObject } from '../pipeline/route-kit.ts';

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 20;
/** More files than any user has here. */
const MAX_FILES = 10_000;

const cursor = {
  after: t.Optional(t.String({ maxLength: 191, description: 'The ID of the last object of the previous page.' })),
  limit: t.Optional(integerText({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT })),
  order: t.Optional(t.Union([t.Literal('asc'), t.Literal('desc')], { description: 'By creation; default desc.' })),
};

/** The query of OpenAI's lists. */
export const cursorQuery = strictObject(cursor);
/** The query of OpenAI's list of files. */
export const fileQuery = strictObject({
  ...cursor,
  limit: t.Optional(integerText({ minimum: 1, maximum: MAX_FILES, default: MAX_FILES })),
  purpose: t.Optional(t.String({ maxLength: 64, description: 'Only files of this purpose: all here are for batch.' })),
});
/** The query of the list of tasks. */
export const taskQuery = strictObject({
  ...cursor,
  relayed: t.Optional(
    t.Union([t.Literal('true'), t.Literal('false')], {
      description: 'true: the list of relayed requests that are followed as tasks, instead of the tasks of plugins.',
    }),
  ),
});

type Cursor = { after?: string | undefined; limit?: string | undefined; order?: 'asc' | 'desc' | undefined };

/** @throws http.validation_failed */
export const readCursor = (
  { after, limit, order = 'desc' }: Cursor,
  { usual, max } = { usual: DEFAULT_LIMIT, max: MAX_LIMIT },
) => ({
  ...(after === undefined ? {} : { after }),
  limit: readInteger('limit', limit ?? String(usual), { min: 1, max }),
  order,
});

/** @throws http.validation_failed */
export const readFileCursor = ({ purpose, ...cursor }: Cursor & { purpose?: string | undefined }) => ({
  ...readCursor(cursor, { usual: MAX_FILES, max: MAX_FILES }),
  ...(purpose === undefined ? {} : { purpose }),
});

type Page = Awaited<ReturnType<Tasks['page']>>;

/** A page in OpenAI's form; what waits has its place. */
export async function toPage<T extends object>(
  { queue }: Pick<Tasks, 'queue'>,
  { tasks, hasMore }: Page,
  describe: (task: Page['tasks'][number]) => T,
) {
  const positions = await queue.find(tasks);
  const data = tasks.map((task) => {
    const position = positions.get(task.taskId);
    return position ? { ...describe(task), queue: position } : describe(task);
  });
  return toList(data, { first: tasks[0]?.taskId, last: tasks.at(-1)?.taskId, hasMore });
}

/** A page of relayed requests. */
export const toRelayPage = ({ tasks, hasMore }: RelayTaskPage) =>
  toList(tasks, { first: tasks[0]?.id, last: tasks.at(-1)?.id, hasMore });

type Ends = { first: string | undefined; last: string | undefined; hasMore: boolean };

const toList = <T>(data: readonly T[], { first, last, hasMore }: Ends) => ({
  object: 'list' as const,
  data,
  first_id: first ?? null,
  last_id: last ?? null,
  has_more: hasMore,
});
