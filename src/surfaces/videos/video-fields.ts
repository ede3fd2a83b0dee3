import type { Json } from '../../kernel/index.ts';
import type { TaskProperties } from '../../store/ports/index.ts';
import { firstValue, readFields, type Submission } from '../../tasks/index.ts';

/** Longer values are none that a video object could show. */
const MAX_LENGTH = 32;

/** What the request of a video asked for: its object shows it before a plugin has rendered it. */
export function videoFields(submission: Pick<Submission, 'request' | 'originTasks'>): Pick<TaskProperties, 'video'> {
  const { seconds, size } = readFields(submission.request);
  const remixed = submission.originTasks?.tasks[0]?.taskId;
  const video = {
    ...shown('seconds', seconds),
    ...shown('size', size),
    ...(remixed === undefined ? {} : { remixed_from_video_id: remixed }),
  };
  return Object.keys(video).length === 0 ? {} : { video };
}

function shown<Name extends string>(name: Name, value: Json | undefined): { [name in Name]?: string } {
  const single = firstValue(value);
  const text = typeof single === 'number' ? String(single) : single;
  if (typeof text !== 'string' || text === '' || text.length > MAX_LENGTH) return {};
  return { [name]: text } as { [name in Name]?: string };
}
