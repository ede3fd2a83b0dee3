/** What JSON Schemas of requests and answers of `/v1` are made of. */

export const TEXT = { type: 'string' } as const;
export const WHOLE = { type: 'integer' } as const;
export const ANY_OBJECT = { type: 'object', additionalProperties: true } as const;

export const object = (required: Record<string, object>, optional: Record<string, object> = {}, more = false) => ({
  type: 'object',
  required: Object.keys(required),
  properties: { ...required, ...optional },
  additionalProperties: more,
});

export const NUMBER = { type: 'number' } as const;
export const orNull = (schema: object) => ({ anyOf: [schema, { type: 'null' }] });

export const body = (required: readonly string[], properties: Record<string, object>) => ({
  type: 'object',
  required,
  properties,
  additionalProperties: true,
});
/** Schemas by the content types of a body. */
export const requestBodyAs = (schemas: Record<string, object>) => ({
  requestBody: {
    required: true,
    content: Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema }])),
  },
});
export const requestBody = (schema: object, forms = false) =>
  requestBodyAs({ 'application/json': schema, ...(forms ? { 'multipart/form-data': schema } : {}) });
export const MODEL = { ...TEXT, description: 'Model ID, as listed by GET /v1/models.', examples: ['demo-video'] };
