import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import schema from '../../../contracts/v1.schema.json';

export type SchemaCheck = (meta: unknown) => readonly ErrorObject[];

/**
 * The manifest's schema as a function. Compiling takes about 35 ms in the binary, so it happens
 * once, at the first call. The schema is not validated against its meta-schema, which would take
 * another 30 ms: it is our own, and a test validates it.
 */
export function createSchemaCheck(): SchemaCheck {
  let validate: ReturnType<Ajv2020['compile']> | undefined;
  return (meta) => {
    validate ??= new Ajv2020({
      allErrors: true,
      verbose: true,
      strict: false,
      meta: false,
      validateSchema: false,
      code: { optimize: false },
    }).compile(schema);
    return validate(meta) ? [] : (validate.errors ?? []);
  };
}
