import { request } from 'node:http';
import { type Clock, isObject, type Json, type JsonObject, parseJson } from '../../../kernel/index.ts';
import type { Manifest } from '../../../plugins/index.ts';
import { hasEnded } from '../../../store/ports/index.ts';
import type { DevInstance } from './start-dev-instance.ts';

type TaskRun = { id: string | undefined; status: string; reason: string };

const POLL_MS = 300;

/** Whether the plugin takes `POST /v1/videos`, and with which model. */
const videoModel = ({ protocols }: Manifest): string | undefined =>
  protocols.find(({ name }) => name === 'proto_video')?.models[0];

/**
 * Submits one task, waits until it has ended or `stopping` is aborted, and reads it and its
 * results, so that every hook on the way is called. Never rejects for what vendor or plugin do
 * wrong.
 */
export async function runTask(
  { address, apiKey, manifest, task }: DevInstance,
  { request, clock, stopping }: { request: JsonObject; clock: Clock; stopping: AbortSignal },
): Promise<TaskRun> {
  const video = videoModel(manifest);
  const path = video === undefined ? `/v1/tasks/${manifest.key}` : '/v1/videos';
  const body: Json = { model: video ?? manifest.models[0] ?? '', ...request };
  const submitted = await askGateway(`${address}${path}`, { method: 'POST', apiKey, body });
  const id = readId(submitted);
  if (id === undefined) return { id, status: 'refused', reason: readMessage(submitted) };
  for (;;) {
    const { status, failReason } = await task(id);
    if (hasEnded({ status }) || stopping.aborted) {
      await readResults(`${address}/v1`, { id, apiKey, isVideo: video !== undefined });
      return { id, status, reason: failReason };
    }
    await clock.sleep(POLL_MS);
  }
}

async function readResults(
  v1: string,
  { id, apiKey, isVideo }: { id: string; apiKey: string; isVideo: boolean },
): Promise<void> {
  if (isVideo) await askGateway(`${v1}/videos/${id}`, { apiKey });
  const { body } = await askGateway(`${v1}/tasks/${id}/artifacts`, { apiKey });
  const artifacts = isObject(body) && Array.isArray(body.artifacts) ? body.artifacts : [];
  for (const { content_url: url } of artifacts as { content_url?: unknown }[]) {
    if (typeof url === 'string') await askGateway(url, { apiKey });
  }
}

function readId({ status, body }: GatewayAnswer): string | undefined {
  if (status >= 300 || !isObject(body)) return undefined;
  const id = body.id ?? body.task_id;
  return typeof id === 'string' ? id : undefined;
}

function readMessage({ status, body }: GatewayAnswer): string {
  const error = isObject(body) ? body.error : undefined;
  return isObject(error) && typeof error.message === 'string' ? error.message : `HTTP ${status}`;
}

/** The most of a download that is read; the rest is discarded. */
const MAX_BYTES = 1024 * 1024;

type Asked = { method?: 'GET' | 'POST'; apiKey: string; body?: Json };
type GatewayAnswer = { status: number; body: Json | undefined };

/** One request to the gateway in this process. Of an answer that is no JSON there is no body. */
function askGateway(url: string, { method = 'GET', apiKey, body }: Asked): Promise<GatewayAnswer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const sent = request(url, { method, headers }, (answer) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => {
        if (bytes < MAX_BYTES) chunks.push(chunk);
        bytes += chunk.length;
      });
      answer.on('end', () => {
        const text = bytes > MAX_BYTES ? '' : Buffer.concat(chunks).toString('utf8');
        resolve({ status: answer.statusCode ?? 0, body: parseJson(text) as Json | undefined });
      });
      answer.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
