import { constant } from '../responses/describe-answer.ts';

/** Describes the webhooks that the gateway sends, for the OpenAPI document. */

/** The header that requests webhooks, on every route that submits. */
export const CALLBACK_URL = {
  in: 'header',
  name: 'X-Callback-Url',
  required: false,
  schema: { type: 'string', format: 'uri', maxLength: 2048 },
  description:
    "Where the gateway sends the webhooks described here for changes of the task: an https URL at a public address, or at a host that the operator allows. It overrides the API key's webhook_url. The key needs a webhook secret (POST /api/token/{id}/webhook-secret).",
};

const text = (description: string) => ({ type: 'string', description });
const time = (description: string) => ({ type: 'integer', description });

/** The members of `taskNotice`; a test compares them with a delivered webhook. */
const TASK = {
  id: text('task_…'),
  task_id: text('The same.'),
  object: constant('task'),
  platform: text("The plugin's key."),
  model: text('As the client named it.'),
  action: text(''),
  status: { type: 'string', enum: ['SUBMITTED', 'QUEUED', 'IN_PROGRESS', 'SUCCESS', 'FAILURE'] },
  progress: text('"0%" to "100%".'),
  fail_reason: text('Empty unless the task failed.'),
  created_at: time('Unix seconds.'),
  finished_at: time('Unix seconds; 0 while the task runs.'),
  cost: {
    type: 'object',
    description: 'What it costs in US dollars: reserved, charged (null until the bill is final), currency, usd.',
  },
  fail_reason_sentence: {
    type: ['object', 'null'],
    description:
      'What fail_reason says: reason, a name that never changes, and params, its values. reason is plugin for the own words of a plugin or a vendor.',
  },
};

const HEADERS: [name: string, description: string][] = [
  ['webhook-id', 'msg_…, the same for every attempt: use it to recognise a repeated delivery.'],
  ['webhook-timestamp', 'The time of this attempt in Unix seconds. Refuse attempts older than five minutes.'],
  [
    'webhook-signature',
    'One signature or, for 24 hours after a rotation, two, separated by a space. Each is "v1," followed by the base64 of HMAC-SHA256 over webhook-id, webhook-timestamp and the raw body, joined by full stops; the HMAC key is the decoded base64 after "whsec_" in the secret.',
  ],
];

/**
 * Stands beside `data` if a task has succeeded; the rest of each is that of the list of artifacts.
 */
const ARTIFACTS = {
  type: 'array',
  description:
    'What GET /v1/tasks/{id}/artifacts lists, read again for each attempt. Absent unless the task succeeded, where it cannot be listed, and where it has more than 128 KiB. If the plugin lists none, legacy_content_url and its companions stand beside it.',
  items: {
    type: 'object',
    required: ['key', 'type', 'content_url'],
    properties: {
      key: text(''),
      type: text('image, video, audio, …'),
      content_url: text('A link that works without a key.'),
      expires_at: time('Unix seconds after which the link no longer works; absent: never.'),
      kept: { type: 'string', enum: ['pending', 'kept', 'lost'], description: 'Absent: the gateway does not keep it.' },
      bytes: time('Size of the kept file.'),
      sha256: text('Digest of the kept file, in hex.'),
      kept_until: time('Unix seconds; absent: it is not removed.'),
      preview: { type: 'object', description: 'A still image: url, width, height, type.' },
    },
  },
};

type Member = { type: string | readonly string[]; description?: string; enum?: readonly string[] };
type Message = { data: Readonly<Record<string, Member>>; beside?: object; tag?: string };

const describeMessage = (type: string, summary: string, { data, beside = {}, tag = 'Webhooks' }: Message) => ({
  post: {
    summary,
    description:
      'Signed as Standard Webhooks 1.0.0 requires and delivered at least once: after any response other than 2xx, or none within 15 seconds, further attempts follow for 24 hours; 410 ends them. Retry-After is honoured up to an hour. Redirects are not followed.',
    tags: [tag],
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
              type: constant(type),
              timestamp: { type: 'string', format: 'date-time', description: 'When it happened.' },
              data: { type: 'object', required: Object.keys(data), properties: data },
              ...beside,
            },
          },
        },
      },
    },
    responses: {
      '2XX': { description: 'Delivered.' },
      '410': { description: 'The gateway does not send this webhook again.' },
    },
  },
});

const describeEvent = (type: string, summary: string) =>
  describeMessage(type, summary, {
    data: TASK,
    beside: type === 'task.finished' || type === 'task.artifacts_kept' ? { artifacts: ARTIFACTS } : {},
  });

/** The members of a batch that its receiver needs; `GET /v1/batches/{id}` answers with all. */
const BATCH = {
  id: text('batch_…'),
  object: constant('batch'),
  endpoint: text('Where its requests go.'),
  status: { type: 'string', enum: ['completed', 'failed', 'expired', 'cancelled'] },
  request_counts: { type: 'object', description: 'total, completed, failed.' },
  output_file_id: { type: ['string', 'null'], description: 'The file of outcomes; null where none succeeded.' },
  error_file_id: { type: ['string', 'null'], description: 'The file of failures; null where there is none.' },
  created_at: time('Unix seconds.'),
  metadata: { type: 'object', description: 'As the client gave it.' },
};

const CHANNEL = { channel_id: time('As in the panel.'), channel: text('Its name; empty when it was deleted.') };
const TO_OPERATOR = 'to the alert webhook';
/** Receivers of these run the gateway. */
const OPERATORS = 'For operators';

/** Webhooks of the gateway: signed with the secret of the option, or of the user's alert. */
const GATEWAY_WEBHOOKS = {
  'channel.failing': describeMessage(
    'channel.failing',
    `A channel started failing; sent once until it recovers, ${TO_OPERATOR}`,
    {
      tag: OPERATORS,
      data: {
        ...CHANNEL,
        failed: time('Tasks that failed within a day.'),
        ended: time('Tasks that ended within a day; fewer than three failed: a test of the channel did.'),
      },
    },
  ),
  'channel.recovered': describeMessage('channel.recovered', `A failing channel recovered; sent ${TO_OPERATOR}`, {
    tag: OPERATORS,
    data: { ...CHANNEL, reason: { type: 'string', enum: ['healthy', 'idle', 'disabled', 'deleted'] } },
  }),
  'backup.failed': describeMessage('backup.failed', `A daily backup failed; sent once a day, ${TO_OPERATOR}`, {
    tag: OPERATORS,
    data: { reason: text('An English sentence.') },
  }),
  'backup.overdue': describeMessage('backup.overdue', `A backup is overdue; sent once a day, ${TO_OPERATOR}`, {
    tag: OPERATORS,
    data: { hours: time('Hours since the latest one.') },
  }),
  'balance.low': describeMessage(
    'balance.low',
    "A user's available balance fell below their threshold; sent once until a top-up, to the user's webhook and, with “Include low-balance events”, to the alert webhook",
    {
      data: {
        user_id: time('As in the panel.'),
        balance: time('What is available: reservations of running tasks are taken off. 500,000 are 1 USD.'),
        threshold: time('In the same unit.'),
      },
    },
  ),
  test: describeMessage('test', `The test in Settings; sent once, ${TO_OPERATOR}`, { tag: OPERATORS, data: {} }),
};

export const WEBHOOKS = {
  'task.queued': describeEvent(
    'task.queued',
    'A task waits for a free slot at the vendor; sent once, before any update',
  ),
  'task.updated': describeEvent(
    'task.updated',
    "A task's status or progress changed; rapid changes are combined into one event",
  ),
  'task.finished': describeEvent('task.finished', 'A task has ended; always sent, after every update'),
  'task.artifacts_kept': describeEvent(
    'task.artifacts_kept',
    'Sent once, when every result of a task has been saved or has failed to save',
  ),
  'batch.finished': describeMessage('batch.finished', 'A batch has ended; sent once, with the batch', { data: BATCH }),
  ...GATEWAY_WEBHOOKS,
};
