import type { TextKey } from '../i18n/texts.ts';

/**
 * Something failed in the browser, before the API was asked: the text says what, and what to do.
 */
export class UserError extends Error {
  constructor(readonly text: TextKey) {
    super(text);
    this.name = 'UserError';
  }
}
