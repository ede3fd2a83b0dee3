// The inspector of the Model Context Protocol checks what it receives. Prints a line for each call.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const { GATE = '', KEY = '' } = process.env;
const address = new URL('/mcp', GATE).href;
const program = 'node_modules/.bin/mcp-inspector';

async function ask(method, ...more) {
  const place = ['--server-url', address, '--transport', 'http', '--header', `Authorization: Bearer ${KEY}`];
  const { stdout } = await promisify(execFile)(program, ['--cli', ...place, '--method', method, ...more]);
  return JSON.parse(stdout);
}

async function row(call, work) {
  const outcome = await work().then(
    (failed) => (failed ? `unexpected: ${failed}` : 'ok'),
    (error) => `${error.stderr || error.message}`.slice(0, 300),
  );
  console.log(JSON.stringify({ call, outcome, refusal: '' }));
}

await row('inspector: tools/list', async () => {
  const { tools } = await ask('tools/list');
  return !tools.some(({ name }) => name === 'create_video') && 'no tool create_video';
});
await row('inspector: tools/call', async () => {
  const { structuredContent } = await ask('tools/call', '--tool-name', 'list_models');
  return !structuredContent.models.some(({ id }) => id === 'demo-video') && 'no model';
});
await row('inspector: resources/list', async () => {
  const { resources } = await ask('resources/list');
  return !Array.isArray(resources) && 'no resources';
});
