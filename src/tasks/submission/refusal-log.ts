import type { Logger } from '../../kernel/index.ts';

type Refused = Readonly<Record<string, unknown>> & { channel: string; reason: string };

/**
 * The log's one line for what vendors refused of a submission. It is written when that ends: only
 * then is it known whether its client was failed, and which account was the last one.
 */
export function createRefusalLog(logger: Logger, message: string) {
  let refused: Refused[] = [];
  return {
    note(fields: Refused): void {
      refused.push(fields);
    },
    write(level: 'info' | 'warn'): void {
      const last = refused.pop();
      if (!last) return;
      const before = refused.map(({ channel, reason }) => `${channel}: ${reason}`);
      refused = [];
      logger[level]({ ...last, ...(before.length > 0 && { before }) }, message);
    },
  };
}
