export type HookCase = { path: string[]; args: unknown[] };

/** Times in microseconds. */
export type HookFigures = { p50: number; p99: number; perSecond: number };

export const hookSource = `
export const meta = { key: 'bench' };
export function buildSubmitRequest(ctx) {
  return {
    method: 'POST',
    url: ctx.baseUrl + '/v1/jobs',
    headers: { authorization: 'Bearer ' + ctx.apiKey, 'content-type': 'application/json' },
    body: { model: ctx.model, prompt: ctx.input.prompt.slice(0, 850), seconds: Number(ctx.input.seconds) || 5 },
  };
}
export function parseSubmitResponse(ctx, response) {
  return { taskId: response.body.id, taskData: response.body };
}
export function parseTaskResult(ctx, body) {
  return { status: body.status === 'queued' ? 'QUEUED' : 'UNKNOWN', progress: body.progress + '%' };
}`;

const context = { baseUrl: 'https://vendor.example', apiKey: 'key-0123456789abcdef', model: 'video-1' };
const frames = Array.from({ length: 217 }, (_, index) => ({
  id: `frame-${index.toString().padStart(5, '0')}`,
  url: `https://cdn.vendor.example/results/0123456789abcdef/frame-${index}.png`,
  seed: index * 7919,
  labels: ['draft', 'preview'],
}));

const answer = { id: 'job-1', status: 'queued', progress: 10, frames };

export const HOOK_CASES = {
  request: {
    path: ['buildSubmitRequest'],
    args: [{ ...context, input: { prompt: 'a lighthouse in the fog '.repeat(43), seconds: '8' } }],
  },
  /** 30 KB there, a status back. */
  read: { path: ['parseTaskResult'], args: [{ ...context, taskId: 'job-1' }, answer] },
  /** 30 KB there and back. */
  store: { path: ['parseSubmitResponse'], args: [context, { status: 200, headers: {}, body: answer }] },
} satisfies Record<string, HookCase>;
