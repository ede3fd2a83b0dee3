import type { ImportedKind } from '../ports/index.ts';
import type { Kit } from './kits.ts';

/** What was imported from other gateways. Times are Unix seconds. */
export const defineImports = (kit: Kit) => ({
  importedRows: kit.table('imported_rows', {
    source: kit.varchar('source', 64).notNull(),
    kind: kit.varchar('kind', 16).$type<ImportedKind>().notNull(),
    sourceId: kit.varchar('source_id', 64).notNull(),
    targetId: kit.big('target_id').notNull(),
    createdAt: kit.big('created_at').notNull(),
  }),
});
