import { t } from 'elysia';
import { DELETED, ROLE, STATUS } from '../../../auth/index.ts';
import { sentence } from '../../../kernel/index.ts';
import { fieldError } from '../../bodies/validation-errors.ts';

const SORTS = {
  id: 'id',
  username: 'username',
  quota: 'quota',
  group: 'group',
  created_at: 'createdAt',
  last_login_at: 'lastLoginAt',
} as const;
const ROLES = { '1': ROLE.user, '10': ROLE.admin, '100': ROLE.root } as const;
const STATUSES = { '1': STATUS.enabled, '2': STATUS.disabled, '-1': DELETED } as const;
const ORDERS = { asc: 'asc', desc: 'desc' } as const;

const text = (description: string) => t.Optional(t.String({ maxLength: 200, description }));

/** The filters of a list of accounts. All are texts, because they come from a query. */
export const listQuery = {
  sort_by: text(Object.keys(SORTS).join(', ')),
  sort_order: text('asc (the default) or desc'),
  keyword: text('An id, or a part of a username, display name or email address'),
  group: text('The name of a group'),
  role: text('1 user, 10 administrator, 100 root'),
  status: text('1 enabled, 2 disabled, -1 deleted'),
};

type ListQuery = { [K in keyof typeof listQuery]?: string };

/** An empty text is not a filter: forms send empty fields. @throws http.validation_failed */
export function readUserFilter(query: ListQuery & { page?: string; page_size?: string }) {
  const { keyword, group } = query;
  const [sortBy, order] = [pick('sort_by', query.sort_by, SORTS), pick('sort_order', query.sort_order, ORDERS)];
  const [role, status] = [pick('role', query.role, ROLES), pick('status', query.status, STATUSES)];
  return {
    ...(keyword ? { keyword } : {}),
    ...(group ? { group } : {}),
    ...(sortBy ? { sortBy } : {}),
    ...(order ? { order } : {}),
    ...(role ? { role } : {}),
    ...(status ? { status } : {}),
  };
}

function pick<T>(field: string, name: string | undefined, choices: Readonly<Record<string, T>>): T | undefined {
  if (name === undefined || name === '') return undefined;
  if (Object.hasOwn(choices, name)) return choices[name];
  throw fieldError(
    field,
    'wrong_value',
    sentence('http.choice', { name: field, names: Object.keys(choices).join(', ') }),
  );
}
