import { type Sentence, sentence } from '../../kernel/index.ts';

/** Why a backup of tables in these schemas could not be restored; undefined: it could. */
export function findSchemasFault(schemas: readonly string[]): Sentence | undefined {
  if (schemas.length > 1) return sentence('backup.two_schemas', { schemas: schemas.join(', ') });
  const [name = ''] = schemas;
  return /\p{Cc}/u.test(name) ? sentence('backup.schema_name') : undefined;
}
