import { expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { indexRoutes } from '../../../src/http/pipeline/route-index.ts';
import type { RequestScope } from '../../../src/http/pipeline/types.ts';

const detail = (level: string) => ({ detail: { 'x-access': level } as object });
const first = () => [
  new Elysia().get('/api/status', () => 'status', detail('public')).get('/api/tasks/:id', () => 'task', detail('user')),
];

function openIndex() {
  let loaded = 0;
  const index = indexRoutes(first(), async () => {
    loaded += 1;
    return [
      new Elysia()
        .post('/api/status', () => 'posted', detail('root'))
        .get('/api/tasks/latest', () => 'latest', detail('user')),
    ];
  });
  async function match(method: string, path: string) {
    await index.load(method, path);
    return index.match(method, path);
  }
  return { index, match, loaded: () => loaded };
}

test('a fixed path of the first controllers is served without the others', () => {
  const { index, loaded } = openIndex();
  for (const method of ['GET', 'HEAD']) {
    expect(index.load(method, '/api/status/')).toBeUndefined();
    expect(index.match(method, '/api/status/').route?.access).toBe('public');
  }
  expect(loaded()).toBe(0);
});

test('whatever another controller could mean loads them, once', async () => {
  for (const [method, path, pattern] of [
    ['GET', '/api/tasks/latest', '/api/tasks/latest'],
    ['GET', '/api/tasks/7', '/api/tasks/:id'],
    ['POST', '/api/status', '/api/status'],
    ['GET', '/elsewhere', undefined],
  ] as const) {
    const { index, match, loaded } = openIndex();
    const [found] = await Promise.all([match(method, path), match(method, path)]);
    expect(found.route?.pattern).toBe(pattern as string);
    expect(loaded()).toBe(1);
    expect(index.load(method, path)).toBeUndefined();
    expect(index.match('PUT', '/api/status')).toMatchObject({ methods: ['GET', 'HEAD', 'POST'] });
    expect(await index.all()).toHaveLength(4);
    expect(loaded()).toBe(1);
  }
});

test('a route of the others runs in its own controller', async () => {
  const { index, match } = openIndex();
  for (const [method, path, text] of [
    ['POST', '/api/status', 'posted'],
    ['GET', '/api/status', 'status'],
  ] as const) {
    const { route } = await match(method, path);
    const request = new Request(`http://gateway${path}`, { method });
    expect(await (await index.run(request, { route } as RequestScope, [])).text()).toBe(text);
  }
});
