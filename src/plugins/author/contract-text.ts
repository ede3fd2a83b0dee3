import { embedText } from './embed-text.ts' with { type: 'macro' };

/** The contract's types, as authors read them. */
export const CONTRACT = embedText('../../../contracts/v1.d.ts');
