import { type CodeLanguage, print } from '../../ui/code/generate-code.ts';

/** Programs of the quickstart that are more than one request. */

type Program = (at: { url: string; apiKey: string; ended: readonly string[] }) => string;

const taskId = 'task_0mwtvasgtVymm26MP9ERHh4tGBpwiPRw';
const print2 = (value: unknown): string => JSON.stringify(value, null, 2);

/** Videos are read where they were created, in OpenAI's form. */
export const isVideo = (path: string): boolean => path === '/v1/videos';
export const endStatuses = (path: string): readonly string[] =>
  isVideo(path) ? ['completed', 'failed'] : ['SUCCESS', 'FAILURE'];

/** What comes back at each step, in its main members. */
export const quickstartResponses = {
  create: (path: string, model: unknown): string =>
    print2({
      ...{ id: taskId, ...(isVideo(path) ? { object: 'video', progress: 0 } : { task_id: taskId }) },
      ...{ status: 'queued', model, created_at: 1_767_225_600 },
    }),
  poll: (path: string, model: unknown): string =>
    print2(
      isVideo(path)
        ? { id: taskId, object: 'video', model, status: 'completed', progress: 100, completed_at: 1_767_225_660 }
        : { id: taskId, object: 'task', model, status: 'SUCCESS', progress: '100%', finished_at: 1_767_225_660 },
    ),
  fetch: (origin: string): string =>
    print2({
      task_id: taskId,
      artifacts: [{ key: 'video', type: 'video', content_url: `${origin}/v1/tasks/…/content?access=…` }],
    }),
} as const;

/** Reads a task until it has ended. curl reads it once; the request waits for a change. */
export const pollPrograms: Readonly<Record<CodeLanguage, Program>> = {
  curl: ({ url, apiKey }) => `curl '${url}' \\\n  -H 'Authorization: Bearer ${apiKey}'`,
  python: ({ url, apiKey, ended }) => `import json
import urllib.request

request = urllib.request.Request(
    "${url}",
    headers={"Authorization": "Bearer ${apiKey}"},
)
task = {"status": ""}
while task["status"] not in (${ended.map((each) => `"${each}"`).join(', ')}):
    with urllib.request.urlopen(request) as response:
        task = json.load(response)
    print(task["status"], task["progress"])`,
  javascript: ({ url, apiKey, ended }) => `let task;
do {
  const response = await fetch("${url}", {
    headers: { Authorization: 'Bearer ${apiKey}' },
  });
  if (!response.ok) throw new Error(await response.text());
  task = await response.json();
  ${print}(task.status, task.progress);
} while (![${ended.map((each) => `'${each}'`).join(', ')}].includes(task.status));`,
};

/** Receives webhooks at port 8000, and answers 401 to those that the secret has not signed. */
export const webhookReceivers: Readonly<Record<Exclude<CodeLanguage, 'curl'>, string>> = {
  python: `import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

key = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))

def is_genuine(headers, body):
    id, sent = headers["webhook-id"], headers["webhook-timestamp"]
    if id is None or abs(time.time() - int(sent)) > 300:
        return False
    mac = hmac.new(key, f"{id}.{sent}.".encode() + body, hashlib.sha256)
    expected = b"v1," + base64.b64encode(mac.digest())
    given = headers["webhook-signature"].split(" ")
    return any(hmac.compare_digest(expected, one.encode()) for one in given)

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        genuine = is_genuine(self.headers, body)
        self.send_response(204 if genuine else 401)
        self.end_headers()
        if genuine:
            event = json.loads(body)
            print(event["type"], event["data"], flush=True)

HTTPServer(("", 8000), Receiver).serve_forever()`,
  javascript: `import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { env } from 'node:process';

const key = Buffer.from(env.WEBHOOK_SECRET.replace('whsec_', ''), 'base64');

function isGenuine(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': sent, 'webhook-signature': signatures = '' } = headers;
  if (!(Math.abs(Date.now() / 1000 - Number(sent)) <= 300)) return false;
  const mac = createHmac('sha256', key).update(\`\${id}.\${sent}.\`).update(body);
  const expected = Buffer.from(\`v1,\${mac.digest('base64')}\`);
  const given = signatures.split(' ').map((one) => Buffer.from(one));
  return given.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
}

createServer(async (request, response) => {
  const body = Buffer.concat(await Array.fromAsync(request));
  const genuine = isGenuine(request.headers, body);
  response.writeHead(genuine ? 204 : 401).end();
  if (!genuine) return;
  const event = JSON.parse(body);
  ${print}(event.type, event.data);
}).listen(8000);`,
};
