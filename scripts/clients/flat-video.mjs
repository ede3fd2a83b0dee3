/** What community apps do with /v1/video/generations and with a video's `url`. */
const { GATE = '', KEY = '' } = process.env;
const headers = { 'x-api-key': KEY, 'content-type': 'application/json' };

async function check(call, run) {
  const outcome = await run().then(
    () => 'ok',
    (error) => `${error?.message ?? error}`.slice(0, 200),
  );
  console.log(JSON.stringify({ call, outcome, refusal: '' }));
}

async function ask(path, body) {
  const response = await fetch(
    `${GATE}${path}`,
    body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers },
  );
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return response.json();
}

async function follow(path) {
  for (;;) {
    const video = await ask(path);
    if (video.status === 'failed') throw new Error(JSON.stringify(video.error));
    if (video.status === 'completed') {
      const file = await fetch(video.url);
      if (!file.ok) throw new Error(`url answered ${file.status}`);
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

const order = { model: 'demo-video', prompt: 'a lighthouse [duration=0.3]', duration: 4, width: 1280, height: 720 };
await check('videos: flat form', async () => {
  const { task_id } = await ask('/video/generations', order);
  await follow(`/video/generations/${task_id}`);
});
await check('videos: url without key', async () => {
  const { id } = await ask('/videos', { ...order, seconds: '4', size: '1280x720' });
  await follow(`/videos/${id}`);
});
await check('videos: relayed url without key', async () => {
  const { id } = await ask('/videos', { model: 'video-x', prompt: 'a lighthouse', seconds: '4', size: '1280x720' });
  await follow(`/videos/${id}`);
  await follow(`/video/generations/${id}`);
});
await check('models with prices', async () => {
  const { data } = await ask('/models?detail=true');
  if (!data.some(({ price }) => price.priced)) throw new Error('no price');
});
