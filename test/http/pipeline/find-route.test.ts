import { expect, test } from 'bun:test';
import { createPathMatcher } from '../../../src/http/pipeline/find-route.ts';
import type { DeclaredRoute } from '../../../src/http/pipeline/types.ts';

const route = (line: string): DeclaredRoute => {
  const [method = '', pattern = '', access = 'user'] = line.split(' ');
  const flags = { takesBody: false, bodyLimit: 'usual', critical: false, modelRequest: false } as const;
  return { method, pattern, access: access as DeclaredRoute['access'], ...flags };
};

const match = createPathMatcher(
  [
    'GET /',
    'GET /api/list',
    'POST /api/list/',
    'GET /api/:id',
    'PUT /api/:name',
    'GET /api/:id/parts/first',
    'GET /api/:id/:kind/last',
    'GET /api/fixed/:kind/:end',
    'POST /v1/tasks apiKey',
    'GET /v1/tasks/:id apiKey',
    'HEAD /v1/tasks/:id/content apiKey',
    'GET /v1/tasks/:id/content apiKey',
  ].map(route),
);

const rows: [method: string, path: string, pattern: string | undefined, methods: string][] = [
  ['GET', '/', '/', 'GET HEAD'],
  ['GET', '/api/list', '/api/list', 'GET HEAD POST'],
  ['GET', '/api/list/', '/api/list', 'GET HEAD POST'],
  ['POST', '/api/list', '/api/list/', 'GET HEAD POST'],
  // A path without parameters wins for every method, also for one that it does not take.
  ['PUT', '/api/list', undefined, 'GET HEAD POST'],
  ['HEAD', '/api/list', '/api/list', 'GET HEAD POST'],
  ['GET', '/api/7', '/api/:id', 'GET HEAD PUT'],
  ['PUT', '/api/7/', '/api/:name', 'GET HEAD PUT'],
  ['GET', '/api/', undefined, ''],
  ['GET', '/api', undefined, ''],
  ['GET', '/api/7/parts/first', '/api/:id/parts/first', 'GET HEAD'],
  ['GET', '/api/7/parts/last', '/api/:id/:kind/last', 'GET HEAD'],
  ['GET', '/api/7//last', undefined, ''],
  // From the left: `fixed` wins over `:id`, although `last` would fit too.
  ['GET', '/api/fixed/x/last', '/api/fixed/:kind/:end', 'GET HEAD'],
  ['GET', '/api/fixed', '/api/:id', 'GET HEAD PUT'],
  ['GET', '/api/fixed/x', undefined, ''],
  ['HEAD', '/v1/tasks/7/content', '/v1/tasks/:id/content', 'GET HEAD'],
  ['GET', '/API/list', undefined, ''],
  ['GET', '', undefined, ''],
];
test.each(rows)('%s %s', (method, path, pattern, methods) => {
  const found = match(method, path);
  expect(found.route?.pattern).toBe(pattern);
  expect(found.methods.join(' ')).toBe(methods);
});

test('HEAD has its own route where there is one, else that of GET', () => {
  expect(match('HEAD', '/v1/tasks/7/content').route?.method).toBe('HEAD');
  expect(match('HEAD', '/v1/tasks/7').route?.method).toBe('GET');
});

test('another method is open to other sites where an API key opens the path', () => {
  expect(match('OPTIONS', '/v1/tasks/7').isOpenToOtherSites).toBe(true);
  expect(match('OPTIONS', '/api/7').isOpenToOtherSites).toBe(false);
  expect(match('GET', '/v1/tasks/7').isOpenToOtherSites).toBe(false);
});
