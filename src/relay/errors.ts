import { defineErrors } from '../kernel/index.ts';

/** Clients know these codes as `tasks.*`, whichever room decides them. */
export const relayErrors = defineErrors('tasks', {
  idempotency_outcome_unknown: [
    'conflict',
    'How the vendor responded to the first request with this Idempotency-Key is not known. It was not billed here, but the vendor may have accepted it. Use a new key to ask again.',
  ],
  answer_not_kept: [
    'unavailable',
    'The vendor responded, but its response could not be kept for a client that does not wait. It was not billed here, but the vendor may bill it.',
  ],
  artifacts_unsupported: [
    'conflict',
    'A relayed request has no artifacts and no links: its images are in the result of GET /v1/tasks/{id}.',
  ],
  relay_request_invalid: ['invalid', 'The request cannot be passed on to the vendor.'],
  relay_object_gone: ['gone', 'The channel that created this was deleted or now points to another vendor.'],
  previous_response_not_found: ['invalid', 'There is no previous response with this id.'],
  referenced_video_not_found: ['invalid', 'There is no video with this id to build on.'],
  not_found: ['not_found', 'There is no such response.'],
});
