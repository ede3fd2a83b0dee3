import { m, type Row } from './base.ts';

export const submit = { method: 'POST', path: '/acme/v1/jobs', type: 'submit', decode: 'd', render: 'r' };
const query = { method: 'GET', path: '/acme/v1/jobs/:task_id', type: 'query', render: 'r' };

const routes = (...list: unknown[]): object => m({ routes: list });
const on = (change: object): object => routes({ ...submit, ...change });
const asked = (change: object): object => routes({ ...query, ...change });
const at = (path: unknown): object => on({ path });
const PATH = '/routes/0/path route.path.format';
const RESERVED = '/routes/0/path route.reserved';

const reserved = [
  '/api',
  '/api/acme',
  '/assets/acme.js',
  '/setup',
  '/v1/tasks',
  '/v1/tasks/acme',
  '/console/acme',
  '/sign-in',
  '/oauth/acme',
  '/user/reset',
  '/models',
  '/livez',
  '/readyz',
  '/metrics',
  '/:any/acme',
  '/v1/:any',
  '/v1/*rest',
  '/*all',
  '/v1/responses',
  '/v1/responses/',
  '/v1/responses/:id',
  '/v1/videos',
  '/v1/videos/:id',
  '/v1/videos/latest',
  '/v1/videos/:id/content',
  '/v1/videos/*rest',
];
const malformed: [name: string, path: string][] = [
  ['an empty path', ''],
  ['a path without slash', 'acme'],
  ['the path /', '/'],
  ['a path with a query', '/acme?x'],
  ['a path with a fragment', '/acme#x'],
  ['a path with percent', '/acme%20'],
  ['a path with a space', '/acme jobs'],
  ['a path with //', '/acme//x'],
  ['a path that begins with //', '//acme'],
  ['a path with .', '/acme/./x'],
  ['a path with ..', '/acme/../x'],
  ['a path that ends with ..', '/acme/..'],
  ['a path with a backslash', '/acme\\x'],
  ['a path with a star', '/acme/v*'],
  ['a path with a colon', '/acme/v1:generate'],
  ['a path with a letter outside ASCII', '/acmé'],
  ['a parameter without name', '/acme/:'],
  ['a parameter that begins with a digit', '/acme/:1'],
  ['a parameter with a hyphen', '/acme/:task-id'],
  ['a catch-all without name', '/acme/*'],
  ['a catch-all inside', '/acme/*rest/x'],
  ['a catch-all with a slash behind', '/acme/*rest/'],
  ['a path with a line break', '/acme\n'],
];

/** Native routes. */
export const routeRows: readonly Row[] = [
  ['routes as object', m({ routes: {} }), '/routes routes.type'],
  ['a text as route', routes('/acme'), '/routes/0 route.type'],
  ['a list as route', routes([]), '/routes/0 route.type'],
  ['an unknown route field', on({ auth: 1 }), '/routes/0/auth unknown_property'],
  ['a route field of a later contract', on({ keepResult: false }), '/routes/0/keepResult unknown_property'],
  ['a text as retainResult', on({ retainResult: 'no' }), '/routes/0/retainResult route.retainResult.type'],
  ['a query that retains', asked({ retainResult: true }), '/routes/0/retainResult route.retainResult.forbidden'],
  ['the removed route renderer', on({ renderer: 'r' }), '/routes/0/renderer removed_name'],

  ['a route without method', on({ method: undefined }), '/routes/0/method required'],
  ['a method in lower case', on({ method: 'post' }), '/routes/0/method route.method.value'],
  ['a HEAD route', on({ method: 'HEAD' }), '/routes/0/method route.method.value'],
  ['an OPTIONS route', on({ method: 'OPTIONS' }), '/routes/0/method route.method.value'],
  ['a number as method', on({ method: 1 }), '/routes/0/method route.method.value'],

  ['a route without path', on({ path: undefined }), '/routes/0/path required'],
  ['a number as path', at(1), '/routes/0/path route.path.type'],
  ...malformed.map(([name, path]): Row => [name, at(path), PATH]),
  ...reserved.map((path): Row => [`the reserved path ${path}`, at(path), RESERVED]),
  ['a reserved path of another method', on({ method: 'DELETE', path: '/v1/videos' }), RESERVED],
  ['a parameter twice', at('/acme/:a/:a'), '/routes/0/path route.path.params'],
  ['a parameter and a catch-all of one name', at('/acme/:a/*a'), '/routes/0/path route.path.params'],

  ['a route without type', on({ type: undefined }), '/routes/0/type required'],
  ['an unknown route type', on({ type: 'proxy' }), '/routes/0/type route.type.value'],
  ['a route type of a later contract', on({ type: 'list' }), '/routes/0/type route.type.value'],

  ['a route without render', on({ render: undefined }), '/routes/0/render required'],
  ['a blank render', on({ render: ' ' }), '/routes/0/render route.render.format'],
  ['a number as render', on({ render: 1 }), '/routes/0/render route.render.type'],
  ['a submit route without decode', on({ decode: undefined }), '/routes/0/decode required'],
  ['a dynamic route without decode', on({ type: 'dynamic', decode: undefined }), '/routes/0/decode required'],
  ['a blank decode', on({ decode: '' }), '/routes/0/decode route.decode.format'],
  ['a number as decode', on({ decode: 1 }), '/routes/0/decode route.decode.type'],
  ['a query route with decode', asked({ decode: 'd' }), '/routes/0/decode route.decode.forbidden'],
  ['a number as action', on({ action: 1 }), '/routes/0/action route.action.type'],

  ['a query route without its parameter', asked({ path: '/acme/:id' }), '/routes/0/path route.path.task_id'],
  ['a query route without parameters', asked({ path: '/acme/jobs' }), '/routes/0/path route.path.task_id'],
  ['another parameter than the path has', asked({ taskIdParam: 'id' }), '/routes/0/path route.path.task_id'],
  ['a bad taskIdParam', asked({ taskIdParam: '1' }), '/routes/0/taskIdParam route.taskIdParam.format'],
  ['a taskIdParam with its colon', asked({ taskIdParam: ':id' }), '/routes/0/taskIdParam route.taskIdParam.format'],
  ['a number as taskIdParam', asked({ taskIdParam: 1 }), '/routes/0/taskIdParam route.taskIdParam.type'],

  ['route models as text', on({ models: 'acme-1' }), '/routes/0/models route.models.type'],
  ['empty route models', on({ models: [] }), '/routes/0/models route.models.count'],
  ['a number as route model', on({ models: [1] }), '/routes/0/models/0 route.models.item.type'],
  ['a route model twice', on({ models: ['acme-1', 'acme-1'] }), '/routes/0/models/1 route.models.unique'],
  [
    'a route model twice after trimming',
    on({ models: ['acme-1 ', ' acme-1'] }),
    '/routes/0/models/1 route.models.unique',
  ],
  ['a foreign route model', on({ models: ['acme-1', 'x'] }), '/routes/0/models/1 route.models.subset'],
  ['a query route with models', asked({ models: ['acme-1'] }), '/routes/0/models route.models.forbidden'],

  ['two equal routes', routes(submit, submit), '/routes/1/path route.unique'],
  ['two types on one path', routes(submit, { ...submit, type: 'dynamic' }), '/routes/1/path route.unique'],
  [
    'two routes of one shape',
    routes({ ...query, path: '/a/:task_id' }, { ...query, path: '/a/:id', taskIdParam: 'id' }),
    '/routes/1/path route.unique',
  ],
  [
    'two catch-alls of one shape',
    routes({ ...submit, path: '/a/*x' }, { ...submit, path: '/a/*y' }),
    '/routes/1/path route.unique',
  ],
  [
    'two paths that differ in a trailing slash',
    routes({ ...submit, path: '/acme/:id/' }, { ...submit, path: '/acme/:job' }),
    '/routes/1/path route.unique',
  ],

  ['no routes', routes()],
  [
    'routes of every type',
    routes(submit, query, { ...submit, type: 'dynamic', path: '/acme/*rest', models: ['acme-2'], action: 'x' }),
  ],
  [
    'one path with all methods',
    routes(...['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => ({ ...submit, method }))),
  ],
  ['a trailing slash', routes({ ...submit, path: '/acme/' }, { ...submit, method: 'PUT', path: '/acme' })],
  ['a parameter beside a literal', routes({ ...submit, path: '/a/:b' }, { ...submit, path: '/a/b' })],
  ['a parameter beside a catch-all', routes({ ...submit, path: '/a/:b' }, { ...submit, path: '/a/*b' })],
  ['a path below a host protocol', at('/v1/videos/:id/extend')],
  ['a path that begins like a reserved one', at('/apis/v1')],
  ['all signs of a literal', at('/A.b_c~d-e/..f/...')],
  ['a renamed task parameter', asked({ path: '/acme/:id', taskIdParam: 'id' })],
  ['the task parameter as a catch-all', asked({ path: '/acme/*task_id' })],
  [
    'an action and a parameter where nothing uses them',
    routes({ ...query, action: 'x' }, { ...submit, taskIdParam: 'id' }),
  ],
  ['an empty action', on({ action: '' })],
  ['one function for both', on({ decode: 'both', render: 'both' })],
];
