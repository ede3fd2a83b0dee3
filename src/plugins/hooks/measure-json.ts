import type { Json } from '../../kernel/index.ts';

/** Bytes of `value` as JSON in UTF-8. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

/** Whether arrays and objects nest deeper than `levels`. Never looks deeper than that. */
export function nestsBeyond(value: Json | undefined, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((child) => nestsBeyond(child, levels - 1));
}
