import type { TaskDetail } from '../../../api/types.ts';
import type { Session } from '../../../session/session.ts';
import { artifactPath } from '../read-task.ts';
import { drawPreview } from './draw-preview.ts';

/** A task may have dozens of results: only the first ones are drawn. */
const maxDrawn = 4;

/** Draws and sends the previews that the gateway lacks. True: at least one was sent. */
export async function offerPreviews(session: Session, taskId: string): Promise<boolean> {
  const path = `/api/task/${encodeURIComponent(taskId)}`;
  // Read again: the gateway or another tab may have made previews since.
  const { artifacts } = await session.send<TaskDetail>({ method: 'GET', path });
  let isSent = false;
  for (const { key, type, content_url: url, preview } of artifacts.slice(0, maxDrawn)) {
    if (preview !== undefined || type === 'file') continue;
    const picture = await drawPreview({ type, path: artifactPath(url) }).catch(() => null);
    if (picture === null) continue;
    const body = { image: await toBase64(picture) };
    // A refusal needs no message: another tab was first, or the gateway has no space.
    const request = { method: 'POST' as const, path: `${path}/artifacts/${encodeURIComponent(key)}/preview`, body };
    isSent =
      (await session.send(request).then(
        () => true,
        () => false,
      )) || isSent;
  }
  return isSent;
}

async function toBase64(blob: Blob): Promise<string> {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}
