/** Parameters that handlers read themselves, for the OpenAPI document. */

type Parameter = { in: 'query' | 'header'; name: string; schema: object; description: string };

/** A detail's own parameters; those of the path and of a checked query are known. */
export const takesParameters = (...parameters: readonly Parameter[]) => ({ 'x-parameters': parameters }) as object;

const query = (name: string, schema: object, description: string): Parameter => ({
  ...{ in: 'query', name, schema, description },
});
const header = (name: string, description: string): Parameter => ({
  ...{ in: 'header', name, schema: { type: 'string' }, description },
});
const LIMIT = { type: 'integer', minimum: 1, maximum: 100 };

export const waits = takesParameters(
  query('wait', { type: 'integer', minimum: 0, maximum: 60 }, 'Seconds to wait for the next change of the status.'),
  header('Prefer', 'The same as wait=60, at most 60: "wait=60".'),
);

const CONDITIONS = [
  header('Range', 'The part that is wanted: "bytes=0-1023".'),
  header('If-None-Match', 'The ETag of the copy that the client has.'),
];
export const downloads = takesParameters(...CONDITIONS);
export const limitsLinks = takesParameters(
  query('expires_in', { type: 'integer', minimum: 1 }, 'Seconds until the links end; never later than by default.'),
);
export const downloadsVariant = takesParameters(
  query('variant', { type: 'string' }, 'video (the default), thumbnail, spritesheet, or the key of an artifact.'),
  ...CONDITIONS,
);

export const resumes = takesParameters(
  query('stream', { type: 'boolean' }, 'Answer with the stream of events.'),
  query('starting_after', { type: 'integer', minimum: 0 }, 'Of a stream: the number of the last event received.'),
);

export const pages = takesParameters(
  query('after', { type: 'string' }, 'The id of the last object of the page before.'),
  query('limit', LIMIT, 'Default 20.'),
  query('order', { type: 'string', enum: ['asc', 'desc'] }, 'By creation; default desc.'),
);
