import { sha256Hex } from '../../kernel/index.ts';
import type { Counters } from '../../store/ports/index.ts';
import { createRequestLimit, type RequestLimit } from '../limits/limit-requests.ts';
import { MAIL_CODE_MINUTES } from './mail-codes.ts';

/** Requests for a code: 2 per 30 seconds and client address (as in new-api). */
export const createCodeRequestLimit = (counters: Counters): RequestLimit =>
  createRequestLimit(counters, { name: 'mail-code', limit: 2, windowSeconds: 30 });

/**
 * Whether one more mail of this kind may go to an address. The count is per mailbox, whatever the
 * client, so that nobody can flood it. Above the limit callers get the same answer, and the last
 * code stays valid: it is not older than the window.
 */
export type MailLimit = (kind: string, address: string) => Promise<boolean>;

const PER_MAILBOX = { limit: 5, windowSeconds: MAIL_CODE_MINUTES * 60 };

export function createMailLimit(counters: Counters): MailLimit {
  return async (kind, address) => {
    const key = `mailbox:${kind}:${sha256Hex(address)}`;
    const { count } = await counters.add(key, 1, PER_MAILBOX.windowSeconds);
    return count <= PER_MAILBOX.limit;
  };
}
