/** The official client of the Model Context Protocol, in the modules that the arguments name. */
const modules = await Promise.all(process.argv.slice(2).map((name) => import(name)));
const { Client, StreamableHTTPClientTransport } = Object.assign({}, ...modules);

const { GATE = '', KEY = '' } = process.env;

async function connect(path) {
  const client = new Client({ name: 'clients', version: '1.0.0' });
  const requestInit = { headers: { authorization: `Bearer ${KEY}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(path, GATE), { requestInit }));
  return client;
}

async function check(call, run, refusal = '') {
  const outcome = await run().then(
    () => 'ok',
    (error) => `${error?.message ?? error}`.slice(0, 200),
  );
  console.log(JSON.stringify({ call, outcome, refusal }));
}

function assert(value, what) {
  if (!value) throw new Error(what);
}

const order = { model: 'demo-video', prompt: 'a lighthouse [duration=0.3]', seconds: 4 };

await check('agents: order and wait', async () => {
  const client = await connect('/mcp');
  const { tools } = await client.listTools();
  assert(
    tools.some(({ name }) => name === 'create_video'),
    'no tool create_video',
  );
  const made = await client.callTool({ name: 'create_video', arguments: order });
  const { id } = made.structuredContent;
  const done = await client.callTool({ name: 'wait_for_task', arguments: { id } });
  assert(done.structuredContent.status === 'SUCCESS', JSON.stringify(done));
  const link = done.content.find(({ type }) => type === 'resource_link');
  assert((await fetch(link.uri)).ok, 'the link opens nothing');
  const { resources } = await client.listResources();
  assert(
    resources.some(({ uri }) => uri.endsWith(id)),
    'no resource',
  );
  const { contents } = await client.readResource({ uri: `taskgate://tasks/${id}` });
  assert(contents[0].text.includes('content_url'), 'no link in the resource');
  await client.close();
});

await check('agents: spend cap', async () => {
  const client = await connect('/mcp?spend_cap_usd=0.1');
  await client.callTool({ name: 'create_video', arguments: order });
  const second = await client.callTool({ name: 'create_video', arguments: order });
  assert(second.isError === true, 'the cap was passed');
  await client.close();
});
