import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../support/find-program.ts';
import { type Gateway, setUp, signIn, startGateway, startVendor } from '../support/gateway.ts';
import { providePythonPackage } from '../support/python-package.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/**
 * Clients that public generators make of `/api/openapi.json`, unedited. Each does the main job:
 * with an access token it makes an API key; with that key it lists models, creates a video, waits
 * for it and downloads it; and it reads the error of a key that does not exist. It prints the size
 * of the video and the code of that error.
 */
const TYPESCRIPT = `
import createClient from 'openapi-fetch';
import type { paths } from './api';
const [baseUrl = '', token = ''] = process.argv.slice(2);
const as = (secret: string) => createClient<paths>({ baseUrl, headers: { Authorization: \`Bearer \${secret}\` } });
const made = await as(token).POST('/api/token', { body: { name: 'typescript', unlimited_quota: true } });
if (made.error) throw new Error(made.error.message);
const client = as(made.data.data.key);
const models = await client.GET('/v1/models');
if (!models.data?.data.some(({ id }) => id === 'demo-video')) throw new Error('no models');
const created = await client.POST('/v1/videos', { body: { model: 'demo-video', prompt: 'a lighthouse [duration=0.3]', seconds: '4' } });
const id = created.data?.id;
if (id === undefined) throw new Error(JSON.stringify(created.error));
const params = { path: { task_id: id } };
for (;;) {
  const { data } = await client.GET('/v1/videos/{task_id}', { params: { ...params, query: { wait: 20 } } });
  if (data?.status === 'completed') break;
  if (data?.status !== 'queued' && data?.status !== 'in_progress') throw new Error(\`\${data?.status}\`);
}
const file = await client.GET('/v1/videos/{task_id}/content', { params, parseAs: 'arrayBuffer' });
const refused = await as('sk-none').GET('/v1/tasks', {});
console.log(JSON.stringify([file.data?.byteLength, refused.error?.error.code]));
`;

const PYTHON = `
import sys, json
from taskgate_client import AuthenticatedClient
from taskgate_client.api.api_keys import post_api_token
from taskgate_client.api.models import list_models
from taskgate_client.api.tasks import list_tasks
from taskgate_client.api.videos import create_video, download_video, retrieve_video
from taskgate_client.models import CreateVideoJsonBody, OpenAiError, PostApiTokenBody, VideoStatus
url, token = sys.argv[1:]
panel = AuthenticatedClient(base_url=url, token=token)
made = post_api_token.sync(client=panel, body=PostApiTokenBody(name="python", unlimited_quota=True))
client = AuthenticatedClient(base_url=url, token=made.data.key)
assert "demo-video" in [model.id for model in list_models.sync(client=client).data]
body = CreateVideoJsonBody(model="demo-video", prompt="a lighthouse [duration=0.3]", seconds="4")
video = create_video.sync(client=client, body=body)
while video.status in (VideoStatus.QUEUED, VideoStatus.IN_PROGRESS):
    video = retrieve_video.sync(video.id, client=client, wait=20)
assert video.status == VideoStatus.COMPLETED
content = download_video.sync_detailed(video.id, client=client).content
refused = list_tasks.sync(client=AuthenticatedClient(base_url=url, token="sk-none"))
assert isinstance(refused, OpenAiError)
print(json.dumps([len(content), refused.error.code]))
`;

const GO_MODULE = `module example.com/client

go 1.24

require github.com/oapi-codegen/runtime v1.8.0
`;
const GO = `
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

func as(url, secret string) *ClientWithResponses {
	client, err := NewClientWithResponses(url, WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+secret)
		return nil
	}))
	check(err)
	return client
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	url, token, ctx := os.Args[1], os.Args[2], context.Background()
	unlimited := true
	made, err := as(url, token).PostApiTokenWithResponse(ctx, PostApiTokenJSONRequestBody{Name: "go", UnlimitedQuota: &unlimited})
	check(err)
	client := as(url, made.JSON200.Data.Key)
	models, err := client.ListModelsWithResponse(ctx, nil)
	check(err)
	if len(models.JSON200.Data) == 0 {
		panic("no models")
	}
	body := CreateVideoJSONRequestBody{Model: "demo-video"}
	seconds := 20
	prompt := "a lighthouse [duration=0.3]"
	body.Prompt = &prompt
	body.Seconds = &CreateVideoJSONBody_Seconds{}
	check(body.Seconds.FromCreateVideoJSONBodySeconds0("4"))
	created, err := client.CreateVideoWithResponse(ctx, nil, body)
	check(err)
	if created.JSON200 == nil {
		panic(string(created.Body))
	}
	video, err := created.JSON200.AsVideo()
	check(err)
	for video.Status == "queued" || video.Status == "in_progress" {
		read, err := client.RetrieveVideoWithResponse(ctx, video.Id, &RetrieveVideoParams{Wait: &seconds})
		check(err)
		if read.JSON200 == nil {
			panic(string(read.Body))
		}
		video, err = read.JSON200.AsVideo()
		check(err)
	}
	if video.Status != "completed" {
		panic(video.Status)
	}
	content, err := client.DownloadVideoWithResponse(ctx, video.Id, nil)
	check(err)
	refused, err := as(url, "sk-none").ListTasksWithResponse(ctx, nil)
	check(err)
	printed, err := json.Marshal([]any{len(content.Body), refused.JSONDefault.Error.Code})
	check(err)
	fmt.Println(string(printed))
}
`;

const missing: string[] = [];
const python = await providePythonPackage('openapi-python-client==0.29.1');
if (typeof python !== 'function') missing.push(python.missing);
const go = findProgram(['go'], ['/usr/local/go/bin']);
if (go === null) missing.push('there is no go');
const npm = findProgram(['npm']);
for (const reason of missing) console.warn(`SKIPPED, a generated client: ${reason}`);

async function run(command: string[], cwd: string): Promise<string> {
  const child = Bun.spawn(command, { cwd, stdin: 'ignore', stderr: 'pipe' });
  const [output, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed:\n${output}\n${complaint}`);
  return output;
}

describe('a client generated of the OpenAPI document does the main job', () => {
  const folder = temporaryFolder();
  const document = join(folder, 'openapi.json');
  let gateway: Gateway;
  let vendor: Awaited<ReturnType<typeof startVendor>>;
  let token: string;

  beforeAll(async () => {
    [vendor, gateway] = await Promise.all([startVendor(), startGateway({ env: { TASK_POLL_INTERVAL_SECONDS: '1' } })]);
    const admin = await setUp(gateway);
    await admin.createChannel(vendor.url);
    await admin.call('PUT', '/api/price', {
      ...{ plugin_key: 'demo', model: 'demo-video', expression: '0.02 * u("seconds")' },
    });
    token = (await signIn(gateway.url)).token;
    writeFileSync(document, await (await fetch(`${gateway.url}/api/openapi.json`)).text());
  });
  afterAll(() => Promise.all([gateway?.stop(), vendor?.stop()]));

  function expectDone(output: string): void {
    const [bytes, code] = JSON.parse(output);
    expect(bytes).toBeGreaterThan(1_000);
    expect(code).toBe('api_key_invalid');
  }
  const makeFolder = (name: string): string => {
    const place = join(folder, name);
    mkdirSync(place);
    return place;
  };

  test.skipIf(npm === null)('openapi-typescript with openapi-fetch', async () => {
    const place = makeFolder('typescript');
    const dependencies = { 'openapi-typescript': '7.13.0', 'openapi-fetch': '0.17.0', typescript: '5.9.3' };
    writeFileSync(join(place, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }));
    writeFileSync(join(place, 'main.ts'), `declare const process: { argv: string[] };\n${TYPESCRIPT}`);
    await run([npm ?? '', 'install', '--no-audit', '--no-fund', '--ignore-scripts'], place);
    const tool = (name: string) => join(place, 'node_modules/.bin', name);
    await run([tool('openapi-typescript'), document, '-o', 'api.d.ts'], place);
    const options = ['--strict', '--skipLibCheck', '--target', 'esnext', '--module', 'esnext'];
    await run([tool('tsc'), ...options, '--moduleResolution', 'bundler', 'main.ts'], place);
    expectDone(await run(['node', 'main.js', gateway.url, token], place));
  });

  test.skipIf(typeof python !== 'function')('openapi-python-client', async () => {
    if (typeof python !== 'function') return;
    const place = makeFolder('python');
    const made = join(place, 'taskgate_client');
    await python([
      '-m',
      'openapi_python_client',
      'generate',
      '--path',
      document,
      '--meta',
      'none',
      '--output-path',
      made,
    ]);
    // It writes files that do not parse where it does not understand a schema.
    await python(['-m', 'compileall', '-q', made]);
    expectDone(await python(['-c', PYTHON, gateway.url, token], place));
  });

  test.skipIf(go === null)('oapi-codegen for Go', async () => {
    const place = makeFolder('go');
    writeFileSync(join(place, 'go.mod'), GO_MODULE);
    writeFileSync(join(place, 'main.go'), GO);
    const generator = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
    const options = ['-generate', 'types,client', '-package', 'main', '-o', 'client.go'];
    await run([go ?? '', 'run', generator, ...options, document], place);
    await run([go ?? '', 'mod', 'tidy'], place);
    expectDone(await run([go ?? '', 'run', '.', gateway.url, token], place));
  });
});
