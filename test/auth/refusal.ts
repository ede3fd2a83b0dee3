import { expect } from 'bun:test';
import { AppError } from '../../src/kernel/index.ts';

/** Gives the error of `work`; fails when it is not refused, or with another code. */
export async function refusal(work: Promise<unknown>, code: string): Promise<AppError> {
  const outcome = await work.then(
    () => 'nothing was refused',
    (error: unknown) => error,
  );
  if (!(outcome instanceof AppError)) throw outcome instanceof Error ? outcome : new Error(String(outcome));
  expect(outcome.code).toBe(code);
  return outcome;
}
