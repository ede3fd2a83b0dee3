import type { HookFailure } from '../types.ts';

type Place = Pick<HookFailure, 'line' | 'column'>;

/** Where a hook failed, 1-based in the source, as far as it is known. */
export const pickPlace = ({ line, column }: Place): Place => ({
  ...(line === undefined ? {} : { line }),
  ...(column === undefined ? {} : { column }),
});
