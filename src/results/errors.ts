import { defineErrors } from '../kernel/index.ts';

/** Clients know these codes as `tasks.*`, whichever room decides them. */
export const resultErrors = defineErrors('tasks', {
  artifact_not_found: ['not_found', 'There is no such artifact.'],
  artifact_variant_unknown: ['invalid', 'This video has no such variant.'],
  artifact_not_ready: ['conflict', 'The task has not succeeded, so it has no artifacts yet.'],
  artifact_plugin_unavailable: ['unavailable', 'The plugin of this task is not available.'],
  artifact_plugin_error: ['internal', 'The plugin could not list the artifacts of this task.'],
  artifact_life_invalid: ['invalid', 'expires_in is outside the allowed lifetime of links.'],
  artifact_url_error: [
    'internal',
    'No public address is set, so links to artifacts cannot be created. Root sets ServerAddress or TaskPublicAddress.',
  ],
  preview_exists: ['conflict', 'This artifact already has a preview.'],
  preview_invalid: ['invalid', 'The image cannot be a preview.'],
  preview_unavailable: ['unavailable', 'There is no room for previews right now.'],
});
