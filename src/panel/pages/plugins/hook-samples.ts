const task = 'task_0123456789abcdef';

/** Sample arguments for a hook; one empty object for unknown hooks. */
export function sampleArguments(hook: string, model: string): string {
  const driver = {
    method: 'POST',
    path: '/v1/tasks/example',
    params: {},
    query: {},
    body: { kind: 'json', value: { model, prompt: 'A lighthouse in the fog' } },
    requestBody: { model, prompt: 'A lighthouse in the fog' },
    requestHeaders: { 'Content-Type': 'application/json' },
    files: [],
    action: 'generate',
    publicTaskId: task,
    model,
    upstreamModel: model,
    baseUrl: 'https://api.example.com',
    authHeader: 'sk-example',
    apiKey: 'sk-example',
  };
  const query = {
    taskId: 'vendor-job-1',
    publicTaskId: task,
    action: 'generate',
    model,
    upstreamModel: model,
    baseUrl: 'https://api.example.com',
    authHeader: 'sk-example',
    apiKey: 'sk-example',
    data: { id: 'vendor-job-1', status: 'running' },
    state: null,
  };
  const artifact = {
    taskId: task,
    status: 'SUCCESS',
    action: 'generate',
    data: { id: 'vendor-job-1', status: 'done', url: 'https://cdn.example.com/video.mp4' },
    state: null,
    producerVersion: '',
  };
  const answer = { id: 'vendor-job-1', status: 'running', progress: 40 };
  const samples: Readonly<Record<string, unknown[]>> = {
    buildSubmitRequest: [driver],
    extractUsage: [{ ...driver, usagePurpose: 'facts' }],
    extractUsageOnSubmit: [driver, answer],
    parseSubmitResponse: [driver, { statusCode: 200, headers: {}, body: { id: 'vendor-job-1' } }],
    parseSubmitError: [{ statusCode: 400, headers: {}, body: { error: { message: 'seconds: 5 or 10' } } }, driver],
    buildQueryRequest: [query],
    parseTaskResult: [query, answer, { status: 200, headers: {} }],
    buildBatchQueryRequest: [{ baseUrl: query.baseUrl, authHeader: query.authHeader, tasks: [query] }],
    extractUsageOnComplete: [query, { status: 'SUCCESS', progress: '100%' }, artifact.data],
    listArtifacts: [artifact],
    resolveArtifact: [
      artifact,
      'video',
      { upstreamTaskId: 'vendor-job-1', baseUrl: query.baseUrl, authHeader: query.authHeader },
    ],
    buildContentRequest: [
      {
        ...artifact,
        upstreamTaskId: 'vendor-job-1',
        artifactKey: 'video',
        baseUrl: query.baseUrl,
        authHeader: query.authHeader,
        clientRequest: { method: 'GET', headers: {} },
      },
    ],
  };
  return JSON.stringify(samples[hook] ?? [{}], null, 2);
}
