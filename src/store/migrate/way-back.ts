import type { Migration } from '../../../migrations/index.ts';
import { storeErrors } from '../errors.ts';

const closed = (name: string, why: string) =>
  storeErrors.irreversible({
    message: `The database cannot go back beyond ${name}: restore the backup from before. ${why}`,
  });

/** @throws `store.irreversible` when one of the migrations can never be taken back */
export function requireNoneForGood(steps: readonly Migration[]): void {
  for (const { name, back } of steps) if ('never' in back) throw closed(name, back.never);
}

/** @throws `store.irreversible` when what the database holds closes the way back */
export async function requireWayBack(
  { name, back }: Migration,
  find: (query: string) => unknown[][] | Promise<unknown[][]>,
): Promise<void> {
  if ('never' in back) throw closed(name, back.never);
  for (const { query, refusal } of back.unless) {
    const found = await find(query);
    if (found.length > 0) throw closed(name, refusal(found.map(([text]) => String(text))));
  }
}
