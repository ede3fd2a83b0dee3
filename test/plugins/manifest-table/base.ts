import type { Meta } from '../../../contracts/v1.d.ts';

/**
 * Name, `meta`, and the only fault that it may have as `pointer rule`; a row of two is a valid
 * manifest.
 */
export type Row = readonly [name: string, meta: unknown, fault?: string];

export const baseMeta: Meta = {
  apiVersion: 1,
  key: 'acme',
  name: 'Acme',
  version: '1.0.0',
  author: { name: 'Acme Inc.' },
  models: ['acme-1', 'acme-2'],
  fetchMode: 'per_task',
};

/** A manifest with these members changed. */
export const m = (change: object): object => ({ ...baseMeta, ...change });

/** A manifest without this member. */
export const without = (name: string): object =>
  Object.fromEntries(Object.entries(baseMeta).filter(([key]) => key !== name));
