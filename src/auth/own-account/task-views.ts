import { type Clock, sentence } from '../../kernel/index.ts';
import type { Store, TaskViewRecord } from '../../store/ports/index.ts';
import { rejectHiddenCharacters } from '../accounts/validate-account.ts';
import { authErrors, invalidField } from '../errors.ts';
import type { PanelPrincipal } from '../principals.ts';

/** Views of one account. */
const MAX_VIEWS = 50;
const NAME_MAX = 60;

/** A filter of the list of tasks under a name, as the panel reads it. */
export type TaskView = { id: number; name: string; query: string };

const describe = ({ id, name, query }: TaskViewRecord): TaskView => ({ id, name, query });

/** Newest first. */
export async function listTaskViews({ store }: { store: Store }, { user }: PanelPrincipal): Promise<TaskView[]> {
  return (await store.taskViews.list(user.id)).map(describe);
}

/**
 * In place of the caller's view of that name, if there is one.
 *
 * @throws `auth.validation_failed`, `auth.task_view_limit`
 */
export async function saveTaskView(
  { store, clock }: { store: Store; clock: Clock },
  { user }: PanelPrincipal,
  view: { name: string; query: string },
): Promise<TaskView> {
  const name = validateName(view.name);
  const saved = await store.transaction(async (tx) => {
    // Others who save for this account wait, so that they do not exceed the limit together.
    await tx.users.lock([user.id]);
    return tx.taskViews.save({ userId: user.id, name, query: view.query, createdAt: clock.unix() }, MAX_VIEWS);
  });
  if (!saved) throw authErrors.task_view_limit({ message: sentence('auth.task_views_max', { max: MAX_VIEWS }) });
  return describe(saved);
}

/** @throws `auth.task_view_not_found` */
export async function deleteTaskView(
  { store }: { store: Store },
  { user }: PanelPrincipal,
  id: number,
): Promise<TaskView> {
  const deleted = await store.taskViews.delete(id, user.id);
  if (!deleted) throw authErrors.task_view_not_found();
  return describe(deleted);
}

function validateName(value: string): string {
  const name = value.trim();
  const length = [...name].length;
  if (length < 1 || length > NAME_MAX || /\p{Cc}/u.test(name) || !name.isWellFormed()) {
    throw invalidField('name', sentence('auth.line_range', { min: 1, max: NAME_MAX }));
  }
  return rejectHiddenCharacters('name', name);
}
