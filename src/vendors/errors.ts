import { defineErrors } from '../kernel/index.ts';

/** Clients know these codes as `tasks.*`, whichever room decides them. */
export const vendorErrors = defineErrors('tasks', {
  plugin_request_invalid: ['invalid', 'The plugin rejected the request.'],
  plugin_unavailable: ['unavailable', 'The plugin is temporarily unavailable. Try again shortly.'],
  plugin_busy_for_you: ['rate_limited', 'The plugin is not accepting your requests right now. Try again later.'],
  rate_limit_exceeded: ['rate_limited', 'Too many tasks are being watched at once.'],
  artifact_request_rejected: ['upstream_failed', 'The artifact request was rejected by the rules of this gateway.'],
  artifact_upstream_auth_failed: ['upstream_failed', 'The vendor refused to hand out the artifact.'],
  artifact_gone: ['gone', 'The vendor no longer has this artifact.'],
  artifact_upstream_busy: ['unavailable', 'The vendor is busy. Try again later.'],
  artifact_upstream_error: ['upstream_failed', 'The vendor could not deliver the artifact.'],
  artifact_upstream_timeout: ['upstream_timeout', 'The vendor did not deliver the artifact in time.'],
  artifact_access_limited: ['rate_limited', 'Too many downloads at once. Try again later.'],
});
