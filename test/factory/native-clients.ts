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
  /** What the vendor's request says where that is not the model's name. */
  nameAtVendor?: string;
  /** What other surfaces need beside a prompt. */
  fields?: Record<string, unknown>;
  /** What does not go to `POST /v1/videos`. */
  makes?: 'images' | 'audio';
};

const RESULT = 'https://results.example/1.mp4';
const IMAGE = 'https://images.example/1.png';
/** An answer that is the audio itself. */
const SOUND = new Blob(['ID3'], { type: 'audio/mpeg' });

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
  {
    plugin: 'runway',
    model: 'gen4_turbo',
    vendor: {
      'POST /v1/image_to_video': { id: 'r1' },
      'GET /v1/tasks/r1': { id: 'r1', status: 'SUCCEEDED', output: [RESULT] },
    },
    submit: {
      method: 'POST',
      path: '/runway/v1/image_to_video',
      body: { model: 'gen4_turbo', promptText: 'a cat', promptImage: IMAGE, ratio: '1280:720', duration: 5 },
    },
    ask: (id) => ({ method: 'GET', path: `/runway/v1/tasks/${id}` }),
    ended: (id) => ({ id, status: 'SUCCEEDED', output: [RESULT] }),
    wrong: { method: 'POST', path: '/runway/v1/uploads', body: {} },
    refusal: { error: 'This gateway does not serve the endpoint.' },
    fields: { promptImage: IMAGE },
  },
  {
    plugin: 'luma',
    model: 'ray-2',
    vendor: {
      'POST /dream-machine/v1/generations': { id: 'l1', state: 'queued' },
      'GET /dream-machine/v1/generations/l1': { id: 'l1', state: 'completed', assets: { video: RESULT } },
    },
    submit: {
      method: 'POST',
      path: '/luma/dream-machine/v1/generations',
      body: { model: 'ray-2', prompt: 'a cat', resolution: '720p', duration: '5s' },
    },
    ask: (id) => ({ method: 'GET', path: `/luma/dream-machine/v1/generations/${id}` }),
    ended: (id) => ({ id, state: 'completed', assets: { video: RESULT } }),
    wrong: { method: 'POST', path: '/luma/dream-machine/v1/generations', body: { model: 'ray-2', size: 'large' } },
    refusal: { detail: 'The size "large" is not in the form WIDTHxHEIGHT.' },
  },
  {
    plugin: 'pixverse',
    model: 'pixverse-v5',
    vendor: {
      'POST /openapi/v2/video/text/generate': { ErrCode: 0, Resp: { video_id: 7 } },
      'GET /openapi/v2/video/result/7': { ErrCode: 0, Resp: { id: 7, status: 1, url: RESULT } },
    },
    submit: {
      method: 'POST',
      path: '/pixverse/openapi/v2/video/text/generate',
      body: { model: 'pixverse-v5', prompt: 'a cat', duration: 5, quality: '540p' },
    },
    ask: (id) => ({ method: 'GET', path: `/pixverse/openapi/v2/video/result/${id}` }),
    ended: (id) => ({ ErrCode: 0, Resp: { id, status: 1, url: RESULT } }),
    wrong: { method: 'POST', path: '/pixverse/openapi/v2/video/text/generate', body: { model: 'v5', audio: 'loud' } },
    refusal: { ErrCode: 400, ErrMsg: 'audio is true or false.' },
    nameAtVendor: '"model":"v5"',
  },
  {
    plugin: 'flux',
    model: 'flux-2-pro',
    vendor: {
      'POST /v1/flux-2-pro': { id: 'f1' },
      'GET /v1/get_result': { id: 'f1', status: 'Ready', result: { sample: RESULT } },
    },
    submit: { method: 'POST', path: '/bfl/v1/flux-2-pro', body: { prompt: 'a cat' } },
    ask: (id) => ({ method: 'GET', path: `/bfl/v1/get_result?id=${id}` }),
    ended: (id) => ({ id, status: 'Ready', result: { sample: RESULT } }),
    wrong: { method: 'POST', path: '/bfl/v1/flux-2-pro', body: { prompt: 5 } },
    refusal: { detail: 'prompt must be a string.' },
    makes: 'images',
  },
  {
    plugin: 'minimax-music',
    model: 'music-2.0',
    vendor: {
      'POST /v1/music_generation': {
        trace_id: 'm1',
        data: { audio: RESULT, status: 2 },
        base_resp: { status_code: 0 },
      },
    },
    submit: {
      method: 'POST',
      path: '/minimax-music/v1/music_generation',
      body: { model: 'music-2.0', prompt: 'folk', lyrics: 'la' },
    },
    ask: (id) => ({ method: 'GET', path: `/minimax-music/v1/music_generation/${id}` }),
    ended: (id) => ({ trace_id: id, data: { audio: RESULT, status: 2 }, base_resp: { status_code: 0 } }),
    wrong: {
      method: 'POST',
      path: '/minimax-music/v1/music_generation',
      body: { model: 'music-2.0', stream: true },
    },
    refusal: { base_resp: { status_code: 400, status_msg: 'The gateway does not stream music; leave stream out.' } },
    fields: { lyrics: 'la' },
    makes: 'audio',
  },
  {
    plugin: 'elevenlabs',
    model: 'eleven_v3',
    vendor: { 'POST /v1/text-to-speech/v1': SOUND },
    submit: {
      method: 'POST',
      path: '/elevenlabs/v1/text-to-speech/v1',
      body: { text: 'Hello', model_id: 'eleven_v3' },
    },
    ask: (id) => ({ method: 'GET', path: `/elevenlabs/v1/history/${id}` }),
    ended: (id) => ({ history_item_id: id, model_id: 'eleven_v3', state: 'created' }),
    wrong: { method: 'POST', path: '/elevenlabs/v1/text-to-speech/v1', body: { text: 5 } },
    refusal: { detail: { message: 'text must be a string.' } },
    fields: { voice_id: 'v1' },
    makes: 'audio',
  },
  {
    plugin: 'fal',
    model: 'fal-ai/veo3.1/fast',
    vendor: {
      'POST /fal-ai/veo3.1/fast': { request_id: 'f1', status: 'IN_QUEUE' },
      'GET /fal-ai/veo3.1/requests/f1/status': { status: 'COMPLETED' },
      'GET /fal-ai/veo3.1/requests/f1': { video: { url: RESULT } },
    },
    submit: { method: 'POST', path: '/fal/fal-ai/veo3.1/fast', body: { prompt: 'a cat', duration: '8s' } },
    ask: (id) => ({ method: 'GET', path: `/fal/fal-ai/veo3.1/requests/${id}` }),
    ended: () => ({ video: { url: RESULT } }),
    wrong: { method: 'POST', path: '/fal/fal-ai/veo3.1/fast', body: { prompt: 5 } },
    refusal: { detail: 'prompt must be a string.' },
  },
  {
    plugin: 'replicate',
    model: 'kwaivgi/kling-v2.5-turbo-pro',
    vendor: {
      'POST /v1/models/kwaivgi/kling-v2.5-turbo-pro/predictions': { id: 'r1', status: 'starting' },
      'GET /v1/predictions/r1': { id: 'r1', status: 'succeeded', output: RESULT },
    },
    submit: {
      method: 'POST',
      path: '/replicate/v1/predictions',
      body: { version: 'kwaivgi/kling-v2.5-turbo-pro', input: { prompt: 'a cat', duration: 5 } },
    },
    ask: (id) => ({ method: 'GET', path: `/replicate/v1/predictions/${id}` }),
    ended: (id) => ({ id, status: 'succeeded', output: RESULT }),
    wrong: { method: 'POST', path: '/replicate/v1/predictions', body: { input: {} } },
    refusal: { detail: 'Please name the model as version: owner/name.' },
  },
  {
    plugin: 'xai',
    model: 'grok-imagine-video',
    vendor: {
      'POST /v1/videos/generations': { request_id: 'x1' },
      'GET /v1/videos/x1': { status: 'done', video: { url: RESULT, duration: 8 } },
    },
    submit: {
      method: 'POST',
      path: '/xai/v1/videos/generations',
      body: { model: 'grok-imagine-video', prompt: 'a cat', duration: 8 },
    },
    ask: (id) => ({ method: 'GET', path: `/xai/v1/videos/${id}` }),
    ended: () => ({ status: 'done', video: { url: RESULT, duration: 8 } }),
    wrong: { method: 'POST', path: '/xai/v1/videos/edits', body: { model: 'grok-imagine-video', prompt: 'a cat' } },
    refusal: { error: 'Please give a video.' },
  },
  {
    plugin: 'openrouter',
    model: 'openrouter/google/veo-3.1',
    vendor: {
      'POST /v1/videos': { id: 'o1', status: 'pending' },
      'GET /v1/videos/o1': { id: 'o1', status: 'completed', usage: { cost: 3.2 } },
    },
    submit: {
      method: 'POST',
      path: '/openrouter/api/v1/videos',
      body: { model: 'openrouter/google/veo-3.1', prompt: 'a cat', duration: 8 },
    },
    ask: (id) => ({ method: 'GET', path: `/openrouter/api/v1/videos/${id}` }),
    ended: (id) => ({ id, status: 'completed' }),
    wrong: { method: 'POST', path: '/openrouter/api/v1/videos', body: { prompt: 'a cat' } },
    refusal: { error: { message: 'Please name the model.' } },
    nameAtVendor: '"model":"google/veo-3.1"',
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
      if (answer instanceof Blob) return new Response(answer);
      return Response.json(answer ?? { asked: request.url }, { status: answer ? 200 : 400 });
    },
  });
  return { url: server.url, received, stop: (now: boolean) => server.stop(now) };
}
