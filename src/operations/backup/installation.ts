import { newUuid } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';

/** Among the options, and none of the catalogue. A restored database gets a new one. */
const KEY = 'installation.id';

/** The id of this installation, which all its nodes share; the first that asks gives it one. */
export async function findInstallation({ options }: Pick<Store, 'options'>): Promise<string> {
  const known = await options.get(KEY);
  if (known !== undefined) return known;
  await options.putIfAbsent(KEY, newUuid());
  return (await options.get(KEY)) ?? '';
}

/** A restored database is another installation than the one that the backup was made of. */
export const renewInstallation = ({ options }: Pick<Store, 'options'>): Promise<void> => options.put(KEY, newUuid());
