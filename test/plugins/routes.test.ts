import { describe, expect, test } from 'bun:test';
import { pathsIntersect, routeShape } from '../../src/plugins/manifest/route-paths.ts';
import { createRouteIndex } from '../../src/plugins/registry/ownership-index.ts';
import type { LoadedPlugin, PluginRoute, RouteMethod } from '../../src/plugins/types.ts';
import { reservedBy } from '../support/reserved-paths.ts';

/** Only what the index looks at. */
const plugin = (key: string, ...routes: [RouteMethod, string][]): LoadedPlugin =>
  ({
    key,
    manifest: {
      routes: routes.map(
        ([method, path]): PluginRoute => ({
          method,
          path,
          type: 'submit',
          render: 'r',
          decode: 'd',
          taskIdParam: 'task_id',
          retainResult: true,
        }),
      ),
    },
  }) as unknown as LoadedPlugin;

const index = createRouteIndex();
index.add(
  plugin(
    'acme',
    ['POST', '/acme/jobs'],
    ['GET', '/acme/jobs/:task_id'],
    ['GET', '/acme/jobs/latest'],
    ['DELETE', '/acme/jobs/:id'],
    ['GET', '/acme/files/*path'],
  ),
);
index.add(plugin('solo', ['POST', '/solo/jobs'], ['POST', '/v1/solo']));
index.add(plugin('slash', ['POST', '/jimeng/'], ['GET', '/acme/files/:name/meta']));

const found = (method: string, path: string): unknown => {
  const match = index.match(method, path);
  if (match?.kind === 'method_not_allowed') return match.allow;
  if (match?.kind === 'not_found') return `none of ${match.plugin.key}`;
  return match && [match.plugin.key, match.route.path, match.params];
};

const table: [method: string, path: string, outcome: unknown][] = [
  ['POST', '/acme/jobs', ['acme', '/acme/jobs', {}]],
  ['GET', '/acme/jobs/task_1', ['acme', '/acme/jobs/:task_id', { task_id: 'task_1' }]],
  ['GET', '/acme/jobs/latest', ['acme', '/acme/jobs/latest', {}]],
  ['DELETE', '/acme/jobs/latest', ['acme', '/acme/jobs/:id', { id: 'latest' }]],
  ['GET', '/acme/jobs/a%2Fb%20c', ['acme', '/acme/jobs/:task_id', { task_id: 'a/b c' }]],
  ['GET', '/acme/files/a/b/c', ['acme', '/acme/files/*path', { path: 'a/b/c' }]],
  ['GET', '/acme/files/a/meta', ['slash', '/acme/files/:name/meta', { name: 'a' }]],
  ['GET', '/acme/files/a/', ['acme', '/acme/files/*path', { path: 'a/' }]],
  ['POST', '/jimeng/', ['slash', '/jimeng/', {}]],
  ['POST', '/jimeng', 'none of slash'],
  ['GET', '/solo/jobs/1/2', 'none of solo'],
  ['GET', '/solo', 'none of solo'],
  ['GET', '/v1/solo/1', undefined],
  ['GET', '/', undefined],
  ['POST', '/acme/jobs/', undefined],
  ['GET', '/acme/jobs/', undefined],
  ['GET', '/acme/files/', undefined],
  ['GET', '/other', undefined],
  ['GET', '/acme/jobs/%E0%A4%A', undefined],
  ['GET', '', undefined],
  ['PATCH', '/acme/jobs', ['POST']],
  ['PUT', '/acme/jobs/1', ['DELETE', 'GET']],
  ['GET', '/__proto__/constructor', undefined],
];

describe('native routes', () => {
  test.each(table)('%s %s', (method, path, outcome) => {
    expect(found(method, path)).toEqual(outcome);
  });
});

test('the owner of a method and shape is found whatever the names of parameters', () => {
  const route = { method: 'GET', path: '/acme/jobs/:other' } as PluginRoute;
  expect(index.findOwner(route)).toBe('acme');
  expect(index.findOwner({ ...route, method: 'POST' })).toBeUndefined();
  expect(index.findOwner({ ...route, path: '/acme/jobs/:other/' })).toBe('acme');
  expect(routeShape('/a/:b/*c')).toBe('/a/:/*');
  expect(routeShape('/a/:b/')).toBe('/a/:');
});

test('patterns intersect if one request path matches both', () => {
  const pairs: [string, string, boolean][] = [
    ['/a/b', '/a/b', true],
    ['/a/:x', '/a/b', true],
    ['/a/:x', '/:y/b', true],
    ['/a/*x', '/a/b/c', true],
    ['/a/*x', '/a', false],
    ['/a/*x', '/a/', false],
    ['/a/:x', '/a/', false],
    ['/a/b', '/a/c', false],
    ['/a/b', '/a/b/', false],
    ['/*x', '/:y/z', true],
  ];
  for (const [a, b, intersects] of pairs) {
    expect([a, b, pathsIntersect(a, b)]).toEqual([a, b, intersects]);
    expect([b, a, pathsIntersect(b, a)]).toEqual([b, a, intersects]);
  }
});

test('namespaces are reserved by segment, also from below a parameter', () => {
  expect(reservedBy('/api')).toBe('/api');
  expect(reservedBy('/api/x')).toBe('/api');
  expect(reservedBy('/apis')).toBeUndefined();
  expect(reservedBy('/v1/:any')).toBe('/v1/tasks');
  expect(reservedBy('/v1/acme')).toBeUndefined();
  expect(reservedBy('/v1/videos/')).toBe('/v1/videos');
  expect(reservedBy('/v1/videos/:id/content')).toBe('/v1/videos/:task_id/content');
  expect(reservedBy('/metrics')).toBe('/metrics');
});
