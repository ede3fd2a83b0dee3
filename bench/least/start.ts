/**
 * The least executable that has the gateway's framework and opens a database. Its arguments are a
 * port and a folder.
 */
import { join } from 'node:path';
import { Elysia } from 'elysia';
import { openTables } from './tables.ts';

const [port = '', folder = ''] = process.argv.slice(-2);
const database = openTables(join(folder, 'least.db'), 'FULL');
const select = database.query('select id, name from users');
new Elysia().get('/', () => ({ success: true, data: select.get() })).listen({ hostname: '127.0.0.1', port });
