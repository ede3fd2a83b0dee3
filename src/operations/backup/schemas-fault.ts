/** Why a backup of tables in these schemas could not be restored; undefined: it could. */
export function findSchemasFault(schemas: readonly string[]): string | undefined {
  if (schemas.length > 1) {
    return `the tables are in the schemas ${schemas.join(', ')}, of which a backup holds one: move them into one with "alter table … set schema …"`;
  }
  const [name = ''] = schemas;
  return /\p{Cc}/u.test(name) ? 'the schema of the tables has a control character in its name: rename it' : undefined;
}
