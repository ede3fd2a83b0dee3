import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  escapeHiddenCharacters,
  findImageType,
  isObject,
  type Json,
  type JsonObject,
  OperatorError,
  RELAY_PREFIX,
} from '../../../kernel/index.ts';
import { hasEnded } from '../../../store/ports/task-records.ts';
import { answer, type CommandInput, type CommandIo, EXIT, type ExitCode, option } from '../command.ts';
import type { GatewayClient } from './gateway-client.ts';

const WAIT_SECONDS = 30;

/** The task once it has ended, with a line of its progress on standard error. */
export async function waitForTask(client: GatewayClient, id: string, io: CommandIo): Promise<JsonObject> {
  let task = await client.get(`/tasks/${encodeURIComponent(id)}`);
  let shown = '';
  const show = (): void => {
    const line = describeProgress(task);
    if (line === shown) return;
    shown = line;
    io.err(io.isTerminal ? `\r\u001b[K${line}` : `${line}\n`);
  };
  show();
  while (!hasEnded(task)) {
    task = await client.get(`/tasks/${encodeURIComponent(id)}?wait=${WAIT_SECONDS}`);
    show();
  }
  if (io.isTerminal) io.err('\n');
  return task;
}

function describeProgress({ id, status, progress, queue }: JsonObject): string {
  const place = isObject(queue) ? `, place ${String(queue.position)} in line` : '';
  return escapeHiddenCharacters(
    `${String(id)} ${String(status).toLowerCase().replace('_', ' ')} ${String(progress)}${place}`,
  );
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'video/mp4': 'mp4',
  'video/webm': 'webm',
  'video/quicktime': 'mov',
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/ogg': 'ogg',
  'application/json': 'json',
  'text/plain': 'txt',
};

/** Downloads what a task has made into `folder`; returns the files. */
async function downloadResults(client: GatewayClient, task: JsonObject, folder: string): Promise<string[]> {
  const id = String(task.id);
  mkdirSync(folder, { recursive: true });
  if (task.result !== undefined || id.startsWith(RELAY_PREFIX)) return saveImages(client, task, folder);
  const path = `/tasks/${encodeURIComponent(id)}/artifacts`;
  const list = await client.get(path);
  const keys = Array.isArray(list.artifacts) ? list.artifacts.flatMap(readKey) : [];
  if (keys.length === 0 && list.legacy_content_url !== undefined) keys.push('result');
  const files: string[] = [];
  for (const key of keys)
    files.push(await client.download(`${path}/${encodeURIComponent(key)}/content`, nameFile(folder, `${id}-${key}`)));
  return files;
}

/** The images of a relayed request, which are in its vendor's answer. */
async function saveImages(client: GatewayClient, { id, result }: JsonObject, folder: string): Promise<string[]> {
  const { data = [], images = data } = isObject(result) ? (result as JsonObject) : {};
  if (!Array.isArray(images) || images.length === 0)
    throw new OperatorError(`the images of ${id} are not kept any more`);
  const files: string[] = [];
  for (const [n, image] of images.entries()) {
    const { b64_json: base64, url } = isObject(image) ? (image as JsonObject) : {};
    const name = nameFile(folder, `${id}-image-${n + 1}`);
    if (typeof base64 === 'string') {
      const file = name(findImageType(base64) ?? '');
      writeFileSync(file, Buffer.from(base64, 'base64'));
      files.push(file);
    } else if (typeof url === 'string') files.push(await client.download(url, name));
  }
  return files;
}

const nameFile =
  (folder: string, name: string) =>
  (mimeType: string): string => {
    const [type = ''] = mimeType.split(';', 1);
    // What the vendor calls its results never chooses the folder.
    const safe = name.replaceAll(/[^\w.-]/g, '_');
    return join(folder, `${safe}.${EXTENSIONS[type.trim().toLowerCase()] ?? 'bin'}`);
  };

const readKey = (artifact: Json): string[] =>
  isObject(artifact) && typeof artifact.key === 'string' ? [artifact.key] : [];

/** Says how a task is, and downloads its results where `--out` asks for them. */
export async function reportTask(client: GatewayClient, task: JsonObject, input: CommandInput): Promise<ExitCode> {
  const folder = option(input, 'out');
  const id = String(task.id);
  const hasSucceeded = task.status === 'SUCCESS';
  const files = folder !== undefined && hasSucceeded ? await downloadResults(client, task, folder) : [];
  const lines = [
    task.status === 'FAILURE' ? `${id} failed: ${String(task.fail_reason)}` : `${id} ${String(task.status)}`,
    ...files,
  ];
  // The files have what the answer of a relayed request has in Base64.
  const { result: _, ...shown } = task;
  answer(input, folder === undefined ? task : { ...shown, files }, lines.join('\n'));
  return task.status === 'FAILURE' ? EXIT.failed : EXIT.ok;
}
