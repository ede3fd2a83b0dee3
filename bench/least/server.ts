/**
 * The least server of the gateway's framework: Elysia on Bun, one prepared statement, an answer as
 * long as that of the session read. What a request takes here no change of the gateway can save.
 * Prints its port.
 */
import { Database } from 'bun:sqlite';
import { Elysia } from 'elysia';

const database = new Database(':memory:');
database.run('create table accounts (id integer primary key, name text)');
database.run("insert into accounts values (1, 'root')");
const select = database.query('select id, name from accounts where id = ?');
const rest = { display_name: '', group: 'default', quota: 100_000_000, used_quota: 0, note: 'x'.repeat(500) };

const app = new Elysia()
  .get('/', () => ({ success: true, message: '', data: { ...(select.get(1) as object), ...rest } }))
  .listen({ hostname: '127.0.0.1', port: 0 });
process.stdout.write(`${app.server?.port}\n`);
