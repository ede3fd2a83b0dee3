import { fileErrors } from '../../files/index.ts';
import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../../tasks/index.ts';

export type ItemPage = { after?: string | undefined; limit?: number | undefined; order?: 'asc' | 'desc' | undefined };

const DEFAULT_LIMIT = 20;

/**
 * The input of a response as a list of items, the latest first unless `order` is `asc`. Items
 * without an id get one.
 * @throws tasks.request_not_kept for an input that was too large to be stored, tasks.page_not_found
 */
export function listInputItems({ taskId, execution }: TaskRecord, page: ItemPage): JsonObject {
  const input = execution.response?.input;
  if (input === undefined)
    throw fileErrors.request_not_kept({
      message: 'The input of this response is not kept: it was too large, or is past its retention.',
    });
  const items = toItems(input).map((item, index): JsonObject => ({ id: `msg_${taskId}_input_${index}`, ...item }));
  const ordered = page.order === 'asc' ? items : items.toReversed();
  const from = page.after === undefined ? 0 : ordered.findIndex(({ id }) => id === page.after) + 1;
  if (page.after !== undefined && from === 0) throw taskErrors.page_not_found({ param: 'after' });
  const limit = page.limit ?? DEFAULT_LIMIT;
  const data = ordered.slice(from, from + limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + limit < ordered.length,
  };
}

/** OpenAI's clients may send a text, or messages without a type and with a text as content. */
function toItems(input: Json): JsonObject[] {
  const items = Array.isArray(input) ? input : [{ role: 'user', content: input }];
  return items.map((item): JsonObject => {
    if (!isObject(item))
      return { type: 'message', role: 'user', content: [{ type: 'input_text', text: String(item) }] };
    const { type = 'message', content, ...rest } = item as JsonObject;
    const parts = typeof content === 'string' ? [{ type: 'input_text', text: content }] : content;
    return { ...rest, type, ...(parts === undefined ? {} : { content: parts }) };
  });
}
