/**
 * What the running gateway answers to paths and methods of every kind: which route takes a request,
 * which methods a path has, what other sites' pages may do, and what is refused before a body is
 * read.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { type NativeGateway, startNativeGateway } from '../v1/native-harness.ts';

let native: NativeGateway;
let task = '';
beforeAll(async () => {
  native = await startNativeGateway('sqlite');
  ({ id: task } = await native.submit());
});
afterAll(() => native.stop());

/** Sends the request line as it is, which no client of the platform would. */
function send(line: string, headers: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(native.port, '127.0.0.1', () => {
      socket.write(`${line} HTTP/1.1\r\nhost: localhost\r\n${headers}connection: close\r\n\r\n`);
    });
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
  });
}

/** The status, what it is (the code of a failure, else the media type), the methods, and CORS. */
async function ask(line: string, as: string, more = ''): Promise<string> {
  const token = { key: native.key, root: native.admin.token }[as];
  const authorization = token === undefined ? '' : `authorization: Bearer ${token}\r\n`;
  const answer = await send(line.replaceAll('TASK', task), `${authorization}${more}`);
  const [head = '', body = ''] = answer.split('\r\n\r\n', 2);
  const header = (name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1];
  const status = head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
  const code = /"code":"(\w+)"/.exec(body)?.[1];
  const allow = header('allow') ?? header('access-control-allow-methods');
  return [
    status,
    code ?? header('content-type')?.split(';')[0] ?? '-',
    ...(allow === undefined ? [] : [allow.replaceAll(' ', '')]),
    ...(header('access-control-allow-origin') === '*' ? ['open'] : []),
    ...(line.startsWith('HEAD') && body !== '' ? ['BODY'] : []),
  ].join(' ');
}

const rows: [as: string, line: string, answer: string][] = [
  ['anyone', 'GET /api/status', '200 application/json'],
  ['anyone', 'HEAD /api/status', '200 application/json'],
  ['anyone', 'GET /api/status/', '200 application/json'],
  ['anyone', 'GET /api/status//', '404 NOT_FOUND'],
  ['anyone', 'GET //api/status', '404 not_found'],
  ['anyone', 'GET /API/status', '404 not_found'],
  ['anyone', 'GET /api/Status', '404 NOT_FOUND'],
  ['anyone', 'GET /api/%73tatus', '404 NOT_FOUND'],
  ['anyone', 'GET /api/status%2F', '404 NOT_FOUND'],
  ['anyone', 'GET /api/status?x=1', '200 application/json'],
  ['anyone', 'GET /api/status#x', '404 NOT_FOUND'],
  ['anyone', 'GET /api/status?x=#/y', '200 application/json'],
  ['anyone', 'GET /api/./status', '200 application/json'],
  ['anyone', 'GET /api/x/../status', '200 application/json'],
  ['anyone', 'GET /api/x/%2e%2e/status', '200 application/json'],
  ['anyone', 'POST /api/status', '405 METHOD_NOT_ALLOWED GET,HEAD'],
  ['anyone', 'PUT /api/status', '405 METHOD_NOT_ALLOWED GET,HEAD'],
  ['anyone', 'OPTIONS /api/status', '405 METHOD_NOT_ALLOWED GET,HEAD'],
  ['anyone', 'DELETE /api/status/', '405 METHOD_NOT_ALLOWED GET,HEAD'],
  ['anyone', 'GET /api', '404 NOT_FOUND'],
  ['anyone', 'GET /api/', '404 NOT_FOUND'],
  ['anyone', 'GET /api/nothing', '404 NOT_FOUND'],
  ['anyone', 'POST /api/nothing', '404 NOT_FOUND'],
  ['anyone', 'OPTIONS /api/nothing', '404 NOT_FOUND'],
  ['anyone', 'GET /api/user/self', '401 AUTH_UNAUTHORIZED'],
  ['root', 'GET /api/user/self', '200 application/json'],
  ['root', 'HEAD /api/user/self', '200 application/json'],
  ['root', 'GET /api/user/self/', '200 application/json'],
  ['root', 'GET /api/user/self#/x', '404 NOT_FOUND'],
  ['root', 'POST /api/user/self', '405 METHOD_NOT_ALLOWED GET,HEAD,PUT,DELETE'],
  ['root', 'PATCH /api/user/self', '405 METHOD_NOT_ALLOWED GET,HEAD,PUT,DELETE'],
  ['root', 'GET /api/user/1', '200 application/json'],
  ['root', 'GET /api/user/1/', '200 application/json'],
  ['root', 'GET /api/user/%31', '200 application/json'],
  ['root', 'GET /api/user/1%20', '404 NOT_FOUND'],
  ['root', 'GET /api/user/1#x', '404 NOT_FOUND'],
  ['root', 'GET /api/user//sessions', '404 NOT_FOUND'],
  ['root', 'GET /api/user/1/sessions', '200 application/json'],
  ['root', 'GET /api/user/sessions', '200 application/json'],
  ['root', 'GET /api/user/sessions/x', '405 METHOD_NOT_ALLOWED DELETE'],
  ['root', 'GET /api/channel/0', '404 NOT_FOUND'],
  ['root', 'DELETE /api/user/a%2Fb', '404 NOT_FOUND'],
  ['root', 'GET /api/task/TASK', '200 application/json'],
  ['root', 'GET /api/task/%54ASK', '404 TASK_NOT_FOUND'],
  ['key', 'GET /api/user/self', '401 AUTH_UNAUTHORIZED'],
  ['key', 'GET /v1/tasks/TASK', '200 application/json open'],
  ['key', 'HEAD /v1/tasks/TASK', '200 application/json open'],
  ['key', 'GET /v1/tasks/TASK/', '200 application/json open'],
  ['key', 'GET /v1/tasks/TASK?x=1', '200 application/json open'],
  ['key', 'GET /v1/tasks/TASK#x', '404 not_found open'],
  ['key', 'GET /v1/tasks/TASK%20', '404 task_not_found open'],
  ['key', 'GET /v1/tasks/%74ask_x', '404 task_not_found open'],
  ['key', 'GET /v1/tasks//', '404 not_found open'],
  ['key', 'GET /v1/tasks', '200 application/json open'],
  ['key', 'GET /v1/tasks/', '200 application/json open'],
  ['key', 'HEAD /v1/tasks/', '200 application/json open'],
  ['key', 'PUT /v1/tasks', '405 method_not_allowed GET,HEAD open'],
  ['key', 'PATCH /v1/tasks/TASK', '405 method_not_allowed GET,HEAD,POST,DELETE open'],
  ['key', 'POST /v1/tasks', '405 method_not_allowed GET,HEAD open'],
  ['anyone', 'OPTIONS /v1/tasks', '204 - GET,HEAD open'],
  ['anyone', 'OPTIONS /v1/tasks/TASK', '204 - GET,HEAD,POST,DELETE open'],
  ['anyone', 'OPTIONS /v1/videos', '204 - GET,HEAD,POST open'],
  ['anyone', 'OPTIONS /v1/videos/', '204 - GET,HEAD,POST open'],
  ['anyone', 'OPTIONS /v1/nothing', '404 not_found open'],
  ['anyone', 'GET /v1/nothing', '404 not_found open'],
  ['anyone', 'GET /v1', '404 not_found open'],
  ['key', 'GET /v1/', '404 not_found open'],
  ['key', 'GET /v1/models', '200 application/json open'],
  ['key', 'GET /v1/models/acme-1', '200 application/json open'],
  ['key', 'GET /v1/models/acme%2D1', '200 application/json open'],
  ['key', 'GET /v1/models/acme/1', '404 model_not_found open'],
  ['key', 'GET /v1/models/acme%2F1', '404 model_not_found open'],
  ['key', 'GET /v1/models/a/b/c', '404 model_not_found open'],
  ['key', 'GET /v1/models/a/b/c/d', '404 model_not_found open'],
  ['key', 'GET /v1/models/a/b/c/d/e/f/g/h', '404 not_found open'],
  ['key', 'GET /v1/videos/TASK', '200 application/json open'],
  ['key', 'GET /v1/videos/TASK/content', '409 artifact_not_ready open'],
  ['key', 'HEAD /v1/videos/TASK/content', '409 application/json open'],
  ['key', 'GET /v1/videos/TASK/Content', '404 not_found open'],
  ['key', 'POST /v1/tasks/TASK/cancel', '409 cancel_unsupported open'],
  ['key', 'POST /v1/tasks/TASK/cancel/', '409 cancel_unsupported open'],
  ['key', 'GET /v1/tasks/TASK/cancel', '405 method_not_allowed POST open'],
  ['key', 'DELETE /v1/tasks/TASK/artifacts/links', '409 artifact_not_ready open'],
  ['key', 'GET /v1/tasks/TASK/artifacts/links', '405 method_not_allowed DELETE open'],
  ['key', 'GET /v1/tasks/TASK/artifacts/x/content', '409 artifact_not_ready open'],
  ['key', 'HEAD /v1/tasks/TASK/artifacts/x/content', '409 application/json open'],
  ['anyone', 'GET /v1/tasks/TASK/artifacts/x/content', '401 api_key_missing open'],
  ['anyone', 'GET /v1/tasks/TASK/artifacts/x/content?access=y', '404 artifact_not_found open'],
  ['key', 'GET /acme/tasks/TASK', '200 application/json open'],
  ['key', 'HEAD /acme/tasks/TASK', '200 application/json open'],
  ['key', 'GET /acme/tasks/TASK/', '404 task_not_found open'],
  ['key', 'GET /acme/tasks/TASK#x', '404 not_found'],
  ['key', 'GET /acme/tasks/%74ask', '404 task_not_found open'],
  ['key', 'DELETE /acme/tasks/TASK', '405 invalid_request GET,POST,HEAD open'],
  ['key', 'PUT /acme/tasks/TASK', '405 invalid_request GET,POST,HEAD open'],
  ['anyone', 'GET /acme/tasks/TASK', '401 authentication_error open'],
  ['anyone', 'OPTIONS /acme/tasks/TASK', '204 - GET,POST,HEAD open'],
  ['anyone', 'OPTIONS /acme/submit', '204 - POST open'],
  ['key', 'GET /acme/submit', '405 invalid_request POST open'],
  ['key', 'GET /acme/nothing', '404 task_not_found open'],
  ['key', 'GET /ACME/tasks/TASK', '404 not_found'],
  ['key', 'POST /acme/slash', '404 task_not_found open'],
  ['key', 'GET /acme//tasks/TASK', '404 task_not_found open'],
  ['anyone', 'GET /', '200 application/json'],
  ['anyone', 'HEAD /', '200 application/json'],
  ['anyone', 'POST /', '404 not_found'],
  ['anyone', 'GET /login', '404 not_found'],
  ['anyone', 'GET /login#x', '404 not_found'],
  ['anyone', 'OPTIONS /', '404 not_found'],
  ['anyone', 'GET /%', '400 bad_address'],
  ['anyone', 'GET /api/%', '400 BAD_ADDRESS'],
  ['anyone', 'GET /v1/tasks/%FF', '400 bad_address open'],
  ['anyone', 'GET /livez', '200 application/json'],
  ['anyone', 'HEAD /livez', '200 application/json'],
  ['anyone', 'GET /livez/', '200 application/json'],
  ['anyone', 'POST /livez', '405 METHOD_NOT_ALLOWED GET,HEAD'],
  ['anyone', 'OPTIONS /livez', '405 METHOD_NOT_ALLOWED GET,HEAD'],
  ['anyone', 'GET /readyz', '200 application/json'],
  ['anyone', 'GET /metrics', '200 text/plain'],
  ['anyone', 'GET http://localhost/api/status', '200 application/json'],
  ['anyone', 'GET http://tg/api/status', '200 application/json'],
  ['key', 'GET http://tg/v1/tasks/TASK', '200 application/json open'],
  ['anyone', 'GET *', '400 -'],
  ['anyone', 'OPTIONS *', '400 -'],
  ['anyone', 'GET api/status', '400 -'],
];

test.each(rows)('%s: %s', async (as, line, answer) => {
  expect(await ask(line, as)).toBe(answer);
});
