import { AppError } from '../../kernel/index.ts';

/** Error codes of a store that may recover. */
const UNAVAILABLE: ReadonlySet<string> = new Set(['store.unavailable', 'store.outcome_unknown']);

export const isStoreUnavailable = (error: unknown): boolean => error instanceof AppError && UNAVAILABLE.has(error.code);
