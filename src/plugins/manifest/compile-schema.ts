import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import schema from '../../../contracts/v1.schema.json';

export type SchemaCheck = (meta: unknown) => readonly ErrorObject[];

/**
 * The manifest's schema as a function. Costs about 35 ms in the binary, so it is made once and not
 * before it is needed. The schema is our own and checked by a test: validating it against its
 * meta-schema here would cost another 30 ms.
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
