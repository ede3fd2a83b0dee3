/** What the API's description says of the requests that the gateway itself sends. */

/** The header that asks for them, on every route that submits. */
export const CALLBACK_URL = {
  in: 'header',
  name: 'X-Callback-Url',
  required: false,
  schema: { type: 'string', format: 'uri', maxLength: 2048 },
  description:
    "Where changes of the task are told, as the webhooks of this description say: an https URL at a public address, or a host that the operator allows. It stands above the API key's webhook_url, and the key needs a webhook secret (POST /api/token/{id}/webhook-secret).",
};

const text = (description: string) => ({ type: 'string', description });
const time = (description: string) => ({ type: 'integer', description });

/** The members of `taskObject`; a test compares them with what arrives. */
const TASK = {
  id: text('task_…'),
  task_id: text('The same.'),
  object: { const: 'task' },
  platform: text("The plugin's key."),
  model: text('As the client named it.'),
  action: text(''),
  status: { enum: ['SUBMITTED', 'QUEUED', 'IN_PROGRESS', 'SUCCESS', 'FAILURE'] },
  progress: text('"0%" to "100%".'),
  fail_reason: text('Empty unless the task failed.'),
  created_at: time('Unix seconds.'),
  finished_at: time('Unix seconds; 0 while the task runs.'),
};

const HEADERS: [name: string, description: string][] = [
  ['webhook-id', 'msg_…, the same for every attempt: by it a receiver knows a repeat.'],
  ['webhook-timestamp', 'When this attempt was made, in Unix seconds. Refuse what is older than five minutes.'],
  [
    'webhook-signature',
    'One or, for 24 hours after a rotation, two signatures with a blank between them. Each is "v1," and the base64 of HMAC-SHA256 over webhook-id, webhook-timestamp and the body as it came, joined by full stops; the key is the base64 after "whsec_" in the secret.',
  ],
];

const describeEvent = (type: string, summary: string) => ({
  post: {
    summary,
    description:
      'Signed after Standard Webhooks 1.0.0 and delivered at least once: any answer but 2xx, and none within 15 seconds, is followed by further attempts over 24 hours; 410 ends them. Retry-After is obeyed up to an hour. Redirects are not followed.',
    tags: ['Webhooks'],
    parameters: HEADERS.map(([name, description]) => ({
      ...{ in: 'header', name, required: true, schema: { type: 'string' } },
      description,
    })),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: {
            type: 'object',
            required: ['type', 'timestamp', 'data'],
            properties: {
              type: { const: type },
              timestamp: { type: 'string', format: 'date-time', description: 'When it happened.' },
              data: { type: 'object', required: Object.keys(TASK), properties: TASK },
            },
          },
        },
      },
    },
    responses: { '2XX': { description: 'Delivered.' }, '410': { description: 'Never sent again.' } },
  },
});

export const WEBHOOKS = {
  'task.updated': describeEvent(
    'task.updated',
    'The status or the progress of a task has changed; of changes that follow each other fast the last one is told',
  ),
  'task.finished': describeEvent('task.finished', 'A task has ended; always told, and as the last of its task'),
};
