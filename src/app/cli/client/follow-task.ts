import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { escapeHiddenCharacters, isObject, type Json, type JsonObject } from '../../../kernel/index.ts';
import { hasEnded } from '../../../store/ports/task-records.ts';
import { answer, type CommandInput, type CommandIo, EXIT, type ExitCode, option } from '../command.ts';
import type { GatewayClient } from './gateway-client.ts';

const WAIT_SECONDS = 30;

/** The task once it has ended, with a line of its progress on standard error. */
export async function followTask(client: GatewayClient, id: string, io: CommandIo): Promise<JsonObject> {
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
async function downloadResults(client: GatewayClient, id: string, folder: string): Promise<string[]> {
  const path = `/tasks/${encodeURIComponent(id)}/artifacts`;
  const list = await client.get(path);
  const keys = Array.isArray(list.artifacts) ? list.artifacts.flatMap(readKey) : [];
  if (keys.length === 0 && list.legacy_content_url !== undefined) keys.push('result');
  mkdirSync(folder, { recursive: true });
  const files: string[] = [];
  for (const key of keys) {
    const name = (mimeType: string): string => {
      const [type = ''] = mimeType.split(';', 1);
      // What the vendor calls its results never chooses the folder.
      const safe = `${id}-${key}`.replaceAll(/[^\w.-]/g, '_');
      return join(folder, `${safe}.${EXTENSIONS[type.trim().toLowerCase()] ?? 'bin'}`);
    };
    files.push(await client.download(`${path}/${encodeURIComponent(key)}/content`, name));
  }
  return files;
}

const readKey = (artifact: Json): string[] =>
  isObject(artifact) && typeof artifact.key === 'string' ? [artifact.key] : [];

/** Says how a task is, and downloads its results where `--out` asks for them. */
export async function reportTask(client: GatewayClient, task: JsonObject, input: CommandInput): Promise<ExitCode> {
  const folder = option(input, 'out');
  const id = String(task.id);
  const hasSucceeded = task.status === 'SUCCESS';
  const files = folder !== undefined && hasSucceeded ? await downloadResults(client, id, folder) : [];
  const lines = [
    task.status === 'FAILURE' ? `${id} failed: ${String(task.fail_reason)}` : `${id} ${String(task.status)}`,
    ...files,
  ];
  answer(input, { ...task, ...(folder === undefined ? {} : { files }) }, lines.join('\n'));
  return task.status === 'FAILURE' ? EXIT.failed : EXIT.ok;
}
