/** A text that is always the same. Generators of clients want the type too. */
export const constant = (value: string) => ({ type: 'string', const: value });

/** An answer in JSON, for an operation's `responses`. */
export const describeAnswer = (status: string, schema: object, description = 'Success') => ({
  [status]: { description, content: { 'application/json': { schema } } },
});

/** An answer that is any JSON, for an operation's `detail`. */
export const answersJson = (description: string) => ({ responses: describeAnswer('200', {}, description) });

/** An answer of other media types, for an operation's `detail`. */
export const answersMedia = (description: string, ...mediaTypes: readonly string[]) => ({
  responses: {
    '200': {
      description,
      content: Object.fromEntries(mediaTypes.map((type) => [type, { schema: { type: 'string' as const } }])),
    },
  },
});

/** The images that `serveIcon` serves. */
export const answersIcon = answersMedia('The image', 'image/png', 'image/svg+xml');
