import { defineErrors } from '../kernel/index.ts';

/** Clients know these codes as `tasks.*`, whichever room decides them. */
export const fileErrors = defineErrors('tasks', {
  request_not_kept: [
    'conflict',
    'The request of this task cannot be repeated: it had files that were not kept, built on earlier tasks, is too large, or was made before requests were kept. Submit it again.',
  ],
  inputs_not_kept: ['conflict', 'The files of this request were not kept. Submit it again.'],
  inputs_gone: ['conflict', 'The files of this request are no longer kept. Submit it again.'],
});
