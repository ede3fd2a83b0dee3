import { describe, expect, test } from 'bun:test';
import type { TaskShown } from '../../src/store/ports/index.ts';
import { createRenderedVideoCache } from '../../src/surfaces/videos/rendered-video-cache.ts';

const task: TaskShown = {
  taskId: 'task_1',
  platform: 'acme',
  userId: 1,
  status: 'SUCCESS',
  progress: '100%',
  failReason: '',
  submitTime: 10,
  finishTime: 20,
  createdAt: 10,
  updatedAt: 20,
  upstreamTaskId: 'job-1',
  quota: 0,
  reserved: 0,
  hiddenAt: 0,
  sourceHash: '',
  linkVersions: '',
  propertiesJson: '{}',
  dataJson: null,
};
const origin = { generation: 0, url: 'http://host/v1/videos/task_1', link: 'http://host/link' };

function holding(...kept: TaskShown[]) {
  const videos = createRenderedVideoCache();
  for (const one of kept) videos.keep(one, origin, `"${one.taskId}"`);
  return videos;
}

describe('a rendering is used again', () => {
  test('for the same task at the same address', () => {
    expect(holding(task).find({ ...task }, origin)).toBe('"task_1"');
  });
  test.each(Object.keys(task) as (keyof TaskShown)[])('not where %s differs', (name) => {
    const value = typeof task[name] === 'number' ? task[name] + 1 : `${task[name]}x`;
    expect(holding(task).find({ ...task, [name]: value }, origin)).toBeUndefined();
  });
  test.each([{ url: 'http://host/v1/videos/task_1?a=1' }, { generation: 1 }, { link: 'http://host/other' }])(
    'not for %j',
    (other) => {
      expect(holding(task).find(task, { ...origin, ...other })).toBeUndefined();
    },
  );
});

test('a rendering by plugins that serve no more is not kept', () => {
  const videos = holding(task);
  videos.find(task, { ...origin, generation: 1 });
  expect([videos.size(), videos.heldBytes()]).toEqual([0, 0]);
  videos.keep(task, origin, '"late"');
  expect(videos.size()).toBe(0);
});

test('their memory is bounded: the longest unused goes first, and a large one is not kept', () => {
  const tasks = Array.from({ length: 5 }, (_, i): TaskShown => ({ ...task, taskId: `task_${i}` }));
  const most = 4 * holding(task).heldBytes();
  const videos = createRenderedVideoCache(most);
  const keep = (one: TaskShown) => videos.keep(one, origin, `"${one.taskId}"`);
  for (const one of tasks.slice(0, 4)) keep(one);
  videos.find(tasks[0] as TaskShown, origin);
  keep(tasks[4] as TaskShown);
  expect(tasks.map((one) => videos.find(one, origin) !== undefined)).toEqual([true, false, true, true, true]);
  expect(videos.heldBytes()).toBeLessThanOrEqual(most);
  const large = { ...task, dataJson: 'x'.repeat(40_000) };
  keep(large);
  expect(videos.find(large, origin)).toBeUndefined();
});

test('a task that is kept again takes its memory once', () => {
  const videos = holding(task);
  const bytes = videos.heldBytes();
  for (let i = 0; i < 5; i++) videos.keep({ ...task, updatedAt: 30 + i }, origin, '"task_1"');
  expect([videos.size(), videos.heldBytes()]).toEqual([1, bytes]);
});
