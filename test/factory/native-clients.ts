/** What vendors' own clients send to a plugin's routes, and what their vendors answer. */

export type Call = { method: 'GET' | 'POST'; path: string; body?: unknown };
export type NativeTest = {
  plugin: string;
  model: string;
  /** What the vendor answers, by method and path. */
  vendor: Record<string, unknown>;
  submit: Call;
  ask: (id: string) => Call;
  /** Part of the answer once the task has ended. */
  ended: (id: string) => unknown;
  /** A submission that is refused, and part of the answer. */
  wrong: Call;
  refusal: unknown;
};

const RESULT = 'https://results.example/1.mp4';

export const clients: NativeTest[] = [
  {
    plugin: 'kling',
    model: 'kling-v1',
    vendor: {
      'POST /v1/videos/text2video': { code: 0, data: { task_id: 'k1', task_status: 'submitted' } },
      'GET /v1/videos/text2video/k1': {
        code: 0,
        data: { task_id: 'k1', task_status: 'succeed', task_result: { videos: [{ id: 'v', url: RESULT }] } },
      },
    },
    submit: { method: 'POST', path: '/kling/v1/videos/text2video', body: { model_name: 'kling-v1', prompt: 'a cat' } },
    ask: (id) => ({ method: 'GET', path: `/kling/v1/videos/text2video/${id}` }),
    ended: (id) => ({
      code: 0,
      data: { task_id: id, task_status: 'succeed', task_result: { videos: [{ id: 'v', url: RESULT }] } },
    }),
    wrong: { method: 'POST', path: '/kling/v1/videos/image2video', body: { model_name: 'kling-v1', prompt: 'a cat' } },
    refusal: { code: 1201, message: 'Please give an image or image_tail.' },
  },
  {
    plugin: 'vidu',
    model: 'viduq2',
    vendor: {
      'POST /ent/v2/text2video': { task_id: 'v1', state: 'created', model: 'viduq2' },
      'GET /ent/v2/tasks/v1/creations': { id: 'v1', state: 'success', creations: [{ id: 'c', url: RESULT }] },
    },
    submit: { method: 'POST', path: '/vidu/ent/v2/text2video', body: { model: 'viduq2', prompt: 'a cat' } },
    ask: (id) => ({ method: 'GET', path: `/vidu/ent/v2/tasks/${id}/creations` }),
    ended: (id) => ({ id, state: 'success', creations: [{ id: 'c', url: RESULT }] }),
    wrong: { method: 'POST', path: '/vidu/ent/v2/img2video', body: { model: 'viduq2', prompt: 'a cat' } },
    refusal: { code: 400, message: 'The number of images for img2video is 1, not 0.' },
  },
  {
    plugin: 'ali',
    model: 'wan2.2-t2v-plus',
    vendor: {
      'POST /api/v1/services/aigc/video-generation/video-synthesis': {
        output: { task_id: 'a1', task_status: 'PENDING' },
      },
      'GET /api/v1/tasks/a1': { output: { task_id: 'a1', task_status: 'SUCCEEDED', video_url: RESULT } },
    },
    submit: {
      method: 'POST',
      path: '/dashscope/api/v1/services/aigc/video-generation/video-synthesis',
      body: { model: 'wan2.2-t2v-plus', input: { prompt: 'a cat' } },
    },
    ask: (id) => ({ method: 'GET', path: `/dashscope/api/v1/tasks/${id}` }),
    ended: (id) => ({ output: { task_id: id, task_status: 'SUCCEEDED', video_url: RESULT } }),
    wrong: {
      method: 'POST',
      path: '/dashscope/api/v1/services/aigc/image2video/video-synthesis',
      body: { input: { prompt: 'a cat' } },
    },
    refusal: { message: 'Please name the model.' },
  },
  {
    plugin: 'hailuo',
    model: 'T2V-01',
    vendor: {
      'POST /v1/video_generation': { task_id: 'h1', base_resp: { status_code: 0 } },
      'GET /v1/query/video_generation': { status: 'Success', file_id: 'f1', base_resp: { status_code: 0 } },
      'GET /v1/files/retrieve': { file: { file_id: 'f1', download_url: RESULT }, base_resp: { status_code: 0 } },
    },
    submit: { method: 'POST', path: '/minimax/v1/video_generation', body: { model: 'T2V-01', prompt: 'a cat' } },
    ask: (id) => ({ method: 'GET', path: `/minimax/v1/files/retrieve?file_id=${id}` }),
    ended: (id) => ({ file: { file_id: id, download_url: RESULT }, base_resp: { status_code: 0 } }),
    wrong: { method: 'POST', path: '/minimax/v1/video_generation', body: { model: 'T2V-01' } },
    refusal: { base_resp: { status_code: 400, status_msg: 'Please give a prompt.' } },
  },
  {
    plugin: 'jimeng',
    model: 'jimeng_t2v_v30',
    vendor: {
      'POST /?Action=CVSync2AsyncSubmitTask': { code: 10000, data: { task_id: 'j1' } },
      'POST /?Action=CVSync2AsyncGetResult': { code: 10000, data: { status: 'done', video_url: RESULT } },
    },
    submit: {
      method: 'POST',
      path: '/jimeng/?Action=CVSync2AsyncSubmitTask&Version=2022-08-31',
      body: { req_key: 'jimeng_t2v_v30', prompt: 'a cat' },
    },
    ask: (id) => ({
      method: 'POST',
      path: '/jimeng/?Action=CVSync2AsyncGetResult&Version=2022-08-31',
      body: { req_key: 'jimeng_t2v_v30', task_id: id },
    }),
    ended: (id) => ({ code: 10000, data: { task_id: id, status: 'done', video_url: RESULT } }),
    wrong: { method: 'POST', path: '/jimeng/?Action=Other', body: {} },
    refusal: { code: 400, message: 'Action must be CVSync2AsyncSubmitTask or CVSync2AsyncGetResult.' },
  },
  {
    plugin: 'doubao',
    model: 'doubao-seedance-1-0-pro-250528',
    vendor: {
      'POST /api/v3/contents/generations/tasks': { id: 'd1' },
      'GET /api/v3/contents/generations/tasks/d1': { id: 'd1', status: 'succeeded', content: { video_url: RESULT } },
    },
    submit: {
      method: 'POST',
      path: '/doubao/api/v3/contents/generations/tasks',
      body: { model: 'doubao-seedance-1-0-pro-250528', content: [{ type: 'text', text: 'a cat' }] },
    },
    ask: (id) => ({ method: 'GET', path: `/doubao/api/v3/contents/generations/tasks/${id}` }),
    ended: (id) => ({ id, status: 'succeeded', content: { video_url: RESULT } }),
    wrong: {
      method: 'POST',
      path: '/doubao/api/v3/contents/generations/tasks',
      body: { model: 'doubao-seedance-1-0-pro-250528', content: [] },
    },
    refusal: { error: { message: 'Please give a prompt or an image.' } },
  },
  {
    plugin: 'sunoapi',
    model: 'suno_music',
    vendor: {
      'POST /suno/submit/music': { code: 'success', data: 's1' },
      'POST /suno/fetch': {
        code: 'success',
        data: [{ task_id: 's1', status: 'SUCCESS', data: [{ id: 'c', audio_url: RESULT }] }],
      },
    },
    submit: { method: 'POST', path: '/suno/submit/music', body: { gpt_description_prompt: 'a song' } },
    ask: (id) => ({ method: 'POST', path: '/suno/fetch', body: { ids: [id] } }),
    ended: (id) => ({ code: 'success', data: [{ task_id: id, status: 'SUCCESS', data: [{ audio_url: RESULT }] }] }),
    wrong: { method: 'POST', path: '/suno/fetch', body: { ids: [5] } },
    refusal: { message: 'Please give the ids of your tasks as a list.' },
  },
];

/** A vendor that answers from a table, and keeps address and body of each request. */
export function answerFrom(vendor: Record<string, unknown>) {
  const received: string[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      received.push(`${request.method} ${request.url} ${await request.text()}`);
      const action = searchParams.get('Action');
      const answer = vendor[`${request.method} ${pathname}${action === null ? '' : `?Action=${action}`}`];
      return Response.json(answer ?? { asked: request.url }, { status: answer ? 200 : 400 });
    },
  });
  return { url: server.url, received, stop: (now: boolean) => server.stop(now) };
}
