/**
 * The request pipeline with plugins' routes: the gateway's paths win, opened routes are released,
 * and callers without a key cannot keep plugins busy.
 */

import { afterEach, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { panelManifest } from '../../../build/panel/manifest.gen.ts';
import { createUploadBudget, openUploadFolder } from '../../../src/http/bodies/upload-folder.ts';
import { createNativeRoutes } from '../../../src/http/v1/native-routes.ts';
import type { V1Deps } from '../../../src/http/v1/route-dependencies.ts';
import { AppError, silentLogger } from '../../../src/kernel/index.ts';
import { findLaterHostRoute } from '../../../src/plugins/manifest/route-paths.ts';
import type { NativeRoute } from '../../../src/surfaces/open-native-path.ts';
import type { Surfaces } from '../../../src/surfaces/surfaces.ts';
import { reservedBy } from '../../support/reserved-paths.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { until } from '../../support/until.ts';
import { call, openKit, SECRET_CAUSE } from '../kit-harness.ts';

let opened = 0;
let released = 0;
let type: NativeRoute['type'] = 'submit';
let answer: NativeRoute['answer'] = async () => ({ body: 'answered', replayed: false });
let presentError: NativeRoute['presentError'] = async (_request, error) => ({ vendor: error.code });
let counted: string[] = [];

/** A plugin that claims every path, which no real plugin may. */
const greedy: Pick<Surfaces, 'openNativePath'> = {
  openNativePath(_method, path) {
    opened += 1;
    return {
      kind: 'route',
      type,
      pattern: path,
      params: {},
      answer: (native) => answer(native),
      presentError: (request, error) => presentError(request, error, { owner: 'user:1' }),
      release: () => {
        released += 1;
      },
    };
  },
};
const modelRequests = async () => {
  counted.push('begun');
  return async () => void counted.push('succeeded');
};
const app = openKit({
  limits: { modelRequests },
  findNativePath: createNativeRoutes({
    ...({} as Pick<V1Deps, 'tasks' | 'results' | 'relay' | 'prices'>),
    surfaces: greedy as Surfaces,
    uploads: openUploadFolder({
      folder: temporaryFolder(),
      budget: createUploadBudget({ nodeBytes: 1_000_000, userBytes: 1_000_000 }),
      logger: silentLogger,
    }),
    maxFileBytes: 1024,
    heartbeatMs: 1000,
    watchAccess: () => ({ signal: new AbortController().signal, hasEnded: () => false, stop: () => {} }),
    assertKeyAllows: () => {},
    limits: { modelRequests },
    auth: {
      async authenticateApiKey() {
        throw new AppError('auth.api_key_exhausted', 'unauthenticated', { message: 'The budget is used up.' });
      },
    },
  }),
});
afterEach(() => {
  [opened, released, counted, type] = [0, 0, [], 'submit'];
  answer = async () => ({ body: 'answered', replayed: false });
  presentError = async (_request, error) => ({ vendor: error.code });
});
const post = (path: string, as = 'sk-good') => call(app, { method: 'POST', path, as });

test('shadowing: a path of the gateway never goes to a plugin, whatever the method', async () => {
  for (const { pattern } of await app.routes.all()) {
    if (findLaterHostRoute(pattern) === pattern) continue;
    const path = pattern.replaceAll(/:\w+/g, 'x');
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']) {
      await call(app, { method, path });
      await call(app, { method, path: `${path}/` });
    }
  }
  expect(opened).toBe(0);
  expect((await post('/acme/jobs')).json).toBe('answered');
  expect(opened).toBe(1);
});

test('a plugin that was installed before the gateway had a path keeps its route there', async () => {
  expect((await post('/v1/video/generations')).json).toBe('answered');
  expect([opened, released]).toEqual([1, 1]);
});

test("shadowing: no plugin may declare the panel's pages and files", () => {
  const routes = readFileSync(new URL('../../../src/panel/routes/app-routes.tsx', import.meta.url), 'utf8');
  const pages = [...routes.matchAll(/path="(\/[^"]+)"/g)].map(([, path = '']) => path);
  expect(pages).toContain('/sign-in');
  for (const path of [...pages, ...panelManifest.files.map((file) => file.path)]) {
    expect([path, typeof reservedBy(path)]).toEqual([path, 'string']);
  }
});

describe('an opened route is released', () => {
  const refusals: [name: string, request: Parameters<typeof call>[1], fails?: () => void][] = [
    ['answered', { method: 'POST', path: '/acme/x', as: 'sk-good' }],
    ['without a key', { method: 'POST', path: '/acme/x' }],
    [
      'with a body of a strange type',
      { method: 'POST', path: '/acme/x', as: 'sk-good', body: new Blob(['x'], { type: 'text/x' }) },
    ],
    [
      'with a crash',
      { method: 'POST', path: '/acme/x', as: 'sk-good' },
      () => {
        answer = async () => {
          throw new Error('a crash');
        };
      },
    ],
  ];
  test.each(refusals)('%s', async (_name, request, fails) => {
    fails?.();
    await call(app, request);
    expect([opened, released]).toEqual([1, 1]);
  });
});

test('a crash is a failure of the gateway, in the format of the vendor', async () => {
  answer = async () => {
    throw new Error('SELECT secret');
  };
  const { status, text } = await post('/acme/x');
  expect([status, text]).toEqual([500, '{"vendor":"server_error"}']);
});

test('flood without a key: plugins format two refusals at once, the gateway answers the others itself', async () => {
  const gate = Promise.withResolvers<void>();
  let asked = 0;
  presentError = async () => {
    asked += 1;
    await gate.promise;
    return 'in other words';
  };
  const flood = Array.from({ length: 50 }, () => post('/acme/x', 'sk-bad'));
  const plain = await Promise.all(flood.slice(2));
  expect(new Set(plain.map(({ status, json }) => [status, json.error.type].join()))).toEqual(
    new Set(['401,authentication_error']),
  );
  answer = async () => {
    throw new AppError('tasks.x', 'invalid', { message: 'No.' });
  };
  const caller = post('/acme/x');
  gate.resolve();
  expect((await caller).json).toBe('in other words');
  expect(await Promise.all(flood.slice(0, 2)).then((first) => first.map(({ json }) => json))).toEqual(
    Array(2).fill('in other words'),
  );
  expect(asked).toBe(3);
  expect((await post('/acme/x', 'sk-bad')).json).toBe('in other words');
});

test('slow upload: the idle timeout is removed only after the whole body has arrived', async () => {
  let kept = 0;
  let asked = false;
  let finish = () => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"a"'));
      finish = () => {
        controller.enqueue(new TextEncoder().encode(':1}'));
        controller.close();
      };
    },
    pull() {
      asked = true;
    },
  });
  const headers = { authorization: 'Bearer sk-good', 'content-type': 'application/json' };
  const request = new Request('http://gateway.local/acme/x', { method: 'POST', headers, body });
  const keepOpen = () => {
    kept += 1;
    return () => {};
  };
  const answered = app.handle(request, { address: '203.0.113.9', keepOpen });
  await until(() => asked);
  expect(kept).toBe(0);
  finish();
  expect((await answered).status).toBe(200);
  expect(kept).toBe(1);
});

describe('the limit of model requests', () => {
  test('a submission counts, and as one success', async () => {
    await post('/acme/x');
    expect(counted).toEqual(['begun', 'succeeded']);
  });

  test('a replay is not a new success, and a refusal is not a success', async () => {
    answer = async () => ({ body: null, replayed: true });
    expect((await post('/acme/x')).headers.get('idempotent-replayed')).toBe('true');
    answer = async () => {
      throw new AppError('tasks.x', 'invalid', { message: 'No.' });
    };
    await post('/acme/x');
    expect(counted).toEqual(['begun', 'begun']);
  });

  test('queries do not count', async () => {
    for (type of ['query', 'dynamic'] as const) await post('/acme/x');
    expect(counted).toEqual([]);
  });

  test('a submission by a dynamic route needs a key with a budget before it counts', async () => {
    type = 'dynamic';
    answer = async ({ admit }) => {
      await admit('model');
      return { body: null, replayed: false };
    };
    const { status, json } = await post('/acme/x');
    expect([status, json, counted]).toEqual([401, { vendor: 'authentication_error' }, []]);
  });
});

test('a failure of route resolution is answered like any other: with a body, an id and a log line', async () => {
  const broken = openKit({
    findNativePath: () => {
      throw new Error(SECRET_CAUSE);
    },
  });
  for (const method of ['POST', 'GET', 'OPTIONS']) {
    const { status, json, headers, text } = await call(broken, { method, path: '/acme/jobs' });
    expect([status, json.error.code]).toEqual([500, 'internal']);
    expect(headers.get('x-request-id')).toBeTruthy();
    expect(text).not.toContain(SECRET_CAUSE);
  }
  const requestLines = broken.lines.filter(({ message }) => message === 'request');
  expect(requestLines.map(({ fields }) => fields.status)).toEqual([500, 500, 500]);
  expect((await call(broken, { path: '/api/open' })).status).toBe(200);
});
