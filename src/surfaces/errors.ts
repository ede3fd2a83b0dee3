import { defineErrors } from '../kernel/index.ts';

/** Clients know these codes as `tasks.*`, whichever room decides them. */
export const surfaceErrors = defineErrors('tasks', {
  plugin_not_found: ['invalid', 'There is no task plugin with this key.'],
  model_not_served: ['invalid', 'This model is not served by the plugin.'],
  tasks_too_large: ['invalid', 'These tasks are too large to show together: ask for fewer at once.'],
  plugin_presenter_failed: ['internal', 'The plugin could not present the task.'],
  video_request_invalid: ['invalid', 'The video cannot be requested like this.'],
  session_cap_reached: ['invalid', 'The session has spent what it may.'],
  image_request_invalid: ['invalid', 'The images cannot be requested like this.'],
  image_failed: ['invalid', 'The images could not be made.'],
  image_not_ready: ['upstream_timeout', 'The images take longer than this request may wait.'],
  task_timeout: ['upstream_timeout', 'The task takes longer than this request may wait; it goes on.'],
  audio_request_invalid: ['invalid', 'The audio cannot be requested like this.'],
  audio_failed: ['invalid', 'The audio could not be made.'],
  audio_not_ready: ['upstream_timeout', 'The audio takes longer than this request may wait.'],
  audio_missing: ['upstream_failed', 'The task has succeeded but has no such result.'],
  images_missing: ['upstream_failed', 'The task has succeeded but has no image.'],
  images_too_large: [
    'upstream_failed',
    'The images are together too large to be answered in Base64: request "response_format": "url".',
  ],
  edit_invalid: ['invalid', 'The video cannot be edited like this.'],
  extension_unsupported: ['invalid', 'Videos cannot be extended here: make a new one from its last picture.'],
  remix_unsupported: ['invalid', 'Videos of this model cannot be remixed.'],
  task_running: ['conflict', 'The task has not ended. Wait for its end before you ask for it again.'],
  response_form_invalid: ['invalid', 'stream and background must be true or false.'],
  response_form_unsupported: ['invalid', 'This model does not take requests of this form.'],
  response_gone: ['gone', 'This response is past its retention.'],
});
