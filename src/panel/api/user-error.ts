import type { TextKey } from '../i18n/texts.ts';

/** A failure in the browser, before any API call. The text says what happened and what to do. */
export class UserError extends Error {
  constructor(readonly text: TextKey) {
    super(text);
    this.name = 'UserError';
  }
}
