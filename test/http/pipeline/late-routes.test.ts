import { expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { indexRoutes } from '../../../src/http/pipeline/route-index.ts';
import type { RequestScope } from '../../../src/http/pipeline/types.ts';

const detail = (level: string) => ({ detail: { 'x-access': level } as object });
const first = () => [
  new Elysia().get('/api/status', () => 'status', detail('public')).get('/api/tasks/:id', () => 'task', detail('user')),
];

function openIndex() {
  let created = 0;
  const index = indexRoutes(first(), () => {
    created += 1;
    return [
      new Elysia()
        .post('/api/status', () => 'posted', detail('root'))
        .get('/api/tasks/latest', () => 'latest', detail('user')),
    ];
  });
  return { index, created: () => created };
}

test('a fixed path of the first controllers is served without the others', () => {
  const { index, created } = openIndex();
  for (const method of ['GET', 'HEAD']) expect(index.match(method, '/api/status/').route?.access).toBe('public');
  expect(created()).toBe(0);
});

test('whatever another controller could mean creates them, once', () => {
  for (const [method, path, pattern] of [
    ['GET', '/api/tasks/latest', '/api/tasks/latest'],
    ['GET', '/api/tasks/7', '/api/tasks/:id'],
    ['POST', '/api/status', '/api/status'],
    ['GET', '/elsewhere', undefined],
  ] as const) {
    const { index, created } = openIndex();
    expect(index.match(method, path).route?.pattern).toBe(pattern as string);
    expect(created()).toBe(1);
    expect(index.match('PUT', '/api/status')).toMatchObject({ methods: ['GET', 'HEAD', 'POST'] });
    expect(index.all()).toHaveLength(4);
    expect(created()).toBe(1);
  }
});

test('a route of the others runs in its own controller', async () => {
  const { index } = openIndex();
  for (const [method, path, text] of [
    ['POST', '/api/status', 'posted'],
    ['GET', '/api/status', 'status'],
  ] as const) {
    const { route } = index.match(method, path);
    const request = new Request(`http://gateway${path}`, { method });
    expect(await (await index.run(request, { route } as RequestScope, [])).text()).toBe(text);
  }
});
