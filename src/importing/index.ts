/**
 * Owns: moving in from another gateway: its tables are read, planned into rows of this one and
 * written once, with a report of what stays behind. May touch: the other gateway's database, this
 * one's rows. Never touches: the network, plugin code, a database with accounts of its own.
 *
 * `import-new-api.ts` leads: `read-source.ts`, one `plan-*.ts` for each kind of row by
 * `new-api-mapping.ts`, then `write-import.ts` and `report.ts`.
 */
export { importNewApi } from './import-new-api.ts';
