import { listCommonPasswords } from './list-common-passwords.ts' with { type: 'macro' };

/** They are in lower case. Those of fewer than eight characters are refused for their length. */
export const commonPasswords: ReadonlySet<string> = new Set(listCommonPasswords(8).split('\n'));
