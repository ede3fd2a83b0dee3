import { constant } from '../responses/describe-answer.ts';
import { ANY_OBJECT, body, MODEL, NUMBER, object, orNull, requestBodyAs, TEXT, WHOLE } from './schema-parts.ts';

const TIME = { type: ['integer', 'null'] } as const;
export const Batch = object(
  {
    id: TEXT,
    object: constant('batch'),
    endpoint: { ...TEXT, description: 'The path of its requests; empty where they differ.' },
    errors: { type: ['object', 'null'] },
    input_file_id: { type: ['string', 'null'] },
    completion_window: constant('24h'),
    status: {
      type: 'string',
      enum: ['validating', 'in_progress', 'cancelling', 'completed', 'failed', 'expired', 'cancelled'],
    },
    output_file_id: {
      type: ['string', 'null'],
      description: 'File with the successful results, once the batch has ended.',
    },
    error_file_id: { type: ['string', 'null'], description: 'File with the failed results, once the batch has ended.' },
    created_at: WHOLE,
    ...{ in_progress_at: TIME, expires_at: TIME, finalizing_at: TIME, completed_at: TIME, failed_at: TIME },
    ...{ expired_at: TIME, cancelling_at: TIME, cancelled_at: TIME },
    request_counts: object({ total: WHOLE, completed: WHOLE, failed: WHOLE }),
    metadata: { type: 'object', additionalProperties: TEXT },
    all_or_none: { type: 'boolean' },
  },
  {
    items: {
      type: 'array',
      description: 'For a single batch: the outcome of each request.',
      items: object({
        index: WHOLE,
        custom_id: TEXT,
        url: TEXT,
        status: {
          type: 'string',
          enum: ['pending', 'submitted', 'completed', 'failed', 'cancelled', 'expired'],
        },
        task_id: { type: ['string', 'null'] },
        usd: { ...NUMBER, description: 'The reservation of its task, then the charge.' },
        error: orNull(object({ code: TEXT, message: TEXT, param: { type: ['string', 'null'] } })),
      }),
    },
  },
);
export const BatchFile = object({
  id: TEXT,
  object: constant('file'),
  bytes: WHOLE,
  created_at: WHOLE,
  expires_at: TIME,
  filename: TEXT,
  purpose: { type: 'string', enum: ['batch', 'batch_output'] },
  status: constant('processed'),
});

const ITEM_BODY = { ...ANY_OBJECT, required: ['model'], properties: { model: MODEL } };
export const BATCH_REQUEST = requestBodyAs({
  'application/json': body([], {
    requests: {
      type: 'array',
      maxItems: 1000,
      items: body(['body'], {
        plugin: { ...TEXT, description: 'A plugin’s key, instead of url.' },
        url: { ...TEXT, examples: ['/v1/videos'] },
        custom_id: TEXT,
        body: ITEM_BODY,
      }),
    },
    all_or_none: { type: 'boolean', description: 'Submit nothing unless every request is valid and affordable.' },
    input_file_id: { ...TEXT, description: 'Instead of requests: a file with them.' },
    endpoint: { type: 'string', enum: ['/v1/videos', '/v1/images/generations'] },
    completion_window: constant('24h'),
    metadata: { type: 'object', additionalProperties: TEXT },
  }),
  'application/jsonl': TEXT,
});
export const FILE_REQUEST = requestBodyAs({
  'multipart/form-data': body(['file', 'purpose'], {
    file: { type: 'string', format: 'binary' },
    purpose: constant('batch'),
    expires_after: {
      ...body(['anchor', 'seconds'], { anchor: constant('created_at'), seconds: WHOLE }),
      description: 'When the file expires: 3,600 to 2,592,000 seconds (the default) after its creation.',
    },
  }),
});
