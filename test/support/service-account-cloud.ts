/**
 * A cloud whose API takes tokens alone: its token server, its jobs, and a plugin that drives it.
 */
import { generateKeyPairSync } from 'node:crypto';
import { jwtVerify } from 'jose';

/** It tells the vendor all that its hooks know of the credential. */
export const CLOUD_PLUGIN = `
export const meta = {
  apiVersion: 1, key: 'vertexlike', name: 'Vertex-like', version: '1.0.0', author: { name: 'Tests' },
  models: ['cloud-video'], fetchMode: 'per_task', auth: { type: 'oauth2_jwt' },
};
const headers = (ctx) => ({ Authorization: ctx.authHeader, 'X-Seen': JSON.stringify(ctx) });
export function buildSubmitRequest(ctx) {
  if (ctx.authError) throw new Error(ctx.authError);
  return { url: ctx.baseUrl + '/v1/projects/' + ctx.auth.projectId + '/jobs', headers: headers(ctx), body: {} };
}
export const parseSubmitResponse = (ctx, response) => ({ taskId: response.body.name });
export const buildQueryRequest = (ctx) => ({ url: ctx.baseUrl + '/v1/jobs/' + ctx.taskId, headers: headers(ctx) });
export const parseTaskResult = (ctx, body) => ({ status: body.done ? 'SUCCESS' : 'IN_PROGRESS' });
export const listArtifacts = () => [{ key: 'video', type: 'video' }];
export const buildContentRequest = (ctx) => ({ url: ctx.baseUrl + '/v1/files/' + ctx.upstreamTaskId, headers: headers(ctx) });
`;

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const ROBOT = 'robot@project.example';

export type Cloud = ReturnType<typeof startCloud>;

/** The account's key as its vendor hands it out. `url`: where the token server is. */
export const accountKey = (url: string, change: object = {}): string =>
  JSON.stringify({
    type: 'service_account',
    project_id: 'project-7',
    private_key: privateKey,
    client_email: ROBOT,
    token_uri: `${url}/token`,
    ...change,
  });

/** Verifies who asks the token server at `url`. @throws for anybody else */
export async function verifyAssertion(url: string, assertion: string): Promise<void> {
  await jwtVerify(assertion, pair.publicKey, { issuer: ROBOT, audience: `${url}/token` });
}

/** A vendor with its token server, which verifies its callers. */
export function startCloud() {
  const cloud = {
    url: '',
    tokens: 0,
    tokenStatus: 200,
    requests: [] as { path: string; authorization: string | null; seen: string }[],
    key: (change: object = {}) => accountKey(cloud.url, change),
    /** The lines of the private key, none of which anybody may see. */
    secretLines: privateKey.split('\n').filter((line) => line.length > 40),
    stop: () => Promise.resolve(),
  };
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname: path } = new URL(request.url);
      if (path === '/token') {
        const asked = new URLSearchParams(await request.text());
        await verifyAssertion(cloud.url, asked.get('assertion') ?? '');
        cloud.tokens += 1;
        const body = { access_token: `ya29.token-${cloud.tokens}`, expires_in: 3600 };
        return Response.json(cloud.tokenStatus === 200 ? body : { error: 'invalid_grant' }, {
          status: cloud.tokenStatus,
        });
      }
      const authorization = request.headers.get('authorization');
      cloud.requests.push({ path, authorization, seen: request.headers.get('x-seen') ?? '' });
      if (!authorization?.startsWith('Bearer ya29.token-')) return new Response('who are you', { status: 401 });
      if (path.startsWith('/v1/projects/')) return Response.json({ name: 'operation-1' });
      if (path.startsWith('/v1/files/')) return new Response('film', { headers: { 'content-type': 'video/mp4' } });
      return Response.json({ done: true });
    },
  });
  cloud.url = `http://127.0.0.1:${server.port}`;
  cloud.stop = () => server.stop(true);
  return cloud;
}
