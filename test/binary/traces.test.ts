/** Traces that the executable sends to a collector. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { freePort } from '../support/free-port.ts';
import { testInFullRun } from '../support/full-run.ts';
import { type Administrator, ask, type Gateway, setUp, startGateway, startVendor } from '../support/gateway.ts';
import { waitForEnd } from '../support/main-job.ts';
import { type CollectedSpan, startCollector, type TraceCollector } from '../support/trace-collector.ts';
import { until } from '../support/until.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

const SERVER = 2;
const CLIENT = 3;
const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const HEADER_SECRET = 'key-of-the-collector';
const PROMPT = 'a heron nobody may read about';

let collector: TraceCollector;
beforeAll(async () => {
  collector = await startCollector();
});
afterAll(() => collector.stop());

const named = (name: string | RegExp, spans = collector.spans) =>
  spans.filter((span) => (typeof name === 'string' ? span.name === name : name.test(span.name)));

describe('a submission with two polls and a webhook', () => {
  let gateway: Gateway;
  let admin: Administrator;
  let key = '';
  let taskId = '';
  let log = '';

  beforeAll(async () => {
    const vendor = await startVendor();
    const receiver = await startReceiver();
    gateway = await startGateway({
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
        OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${HEADER_SECRET}`,
        OTEL_SERVICE_NAME: 'video-gate',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=loses',
        TASK_POLL_INTERVAL_SECONDS: '1',
        WEBHOOK_ALLOWED_HOSTS: '127.0.0.0/8',
        LOG_LEVEL: 'debug',
      },
    });
    try {
      admin = await setUp(gateway);
      await admin.createChannel(vendor.url);
      key = await admin.createKey({ webhook_url: receiver.url });
      const submitted = await ask(`${gateway.url}/v1/tasks/demo?note=of-the-query`, {
        token: key,
        headers: { traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01`, 'x-request-id': 'traced-1' },
        body: { model: 'demo-video', prompt: `${PROMPT} [duration=2]` },
      });
      taskId = String((submitted.body as { id?: string; task_id?: string }).id ?? submitted.body.task_id);
      await waitForEnd(gateway.url, key, taskId);
      await until('the webhook has come', () =>
        receiver.received.some(({ payload }) => payload.type === 'task.finished'),
      );
      await ask(`${gateway.url}/livez`);
      await ask(`${gateway.url}/no-such-path`);
      expect(await gateway.stop()).toBe(0);
      log = gateway.log();
    } finally {
      await vendor.stop();
      await receiver.stop();
    }
  });
  afterAll(() => gateway.kill());

  const request = () => named('POST /v1/tasks/:pluginKey')[0] as CollectedSpan;
  const submission = () => named('submission')[0] as CollectedSpan;
  const listChildren = (parent: CollectedSpan) => collector.spans.filter((span) => span.parentSpanId === parent.spanId);
  const linkedTo = (span: CollectedSpan, to: CollectedSpan) =>
    (span.links ?? []).some((link) => link.traceId === to.traceId && link.spanId === to.spanId);

  test('goes on from the span of the caller, as a span of a server', () => {
    expect(request()).toMatchObject({ traceId: CALLER.traceId, parentSpanId: CALLER.spanId, kind: SERVER });
    expect(request().attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/v1/tasks/:pluginKey',
      'taskgate.request_id': 'traced-1',
    });
  });

  test('holds the submission, its hooks and the request to the vendor', () => {
    expect(submission()).toMatchObject({ traceId: CALLER.traceId, parentSpanId: request().spanId });
    expect(submission().attributes).toMatchObject({ 'taskgate.task_id': taskId, 'taskgate.plugin': 'demo' });
    expect(submission().events?.map(({ name }) => name)).toEqual(['wait', 'prepare', 'reserve', 'send', 'record']);
    const children = listChildren(submission());
    expect(children.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['hook buildSubmitRequest', 'hook parseSubmitResponse', 'POST']),
    );
    const vendor = children.find(({ name }) => name === 'POST');
    expect(vendor).toMatchObject({ kind: CLIENT, attributes: { 'server.address': '127.0.0.1' } });
  });

  test('is linked from each poll, which is a trace of its own with the request to the vendor', () => {
    const polls = named('poll');
    expect(polls.length).toBeGreaterThanOrEqual(2);
    for (const poll of polls) {
      expect(poll.parentSpanId ?? '').toBe('');
      expect(poll.traceId).not.toBe(CALLER.traceId);
      expect(linkedTo(poll, submission())).toBe(true);
      expect(listChildren(poll).map(({ name }) => name)).toEqual(
        expect.arrayContaining(['GET', 'hook buildQueryRequest']),
      );
    }
    expect(new Set(polls.map(({ traceId }) => traceId)).size).toBe(polls.length);
  });

  test('is linked from the delivery of its webhook', () => {
    const deliveries = named('webhook').filter(({ attributes }) => attributes['taskgate.event'] === 'task.finished');
    expect(deliveries).toHaveLength(1);
    const [delivery] = deliveries as [CollectedSpan];
    expect(linkedTo(delivery, submission())).toBe(true);
    expect(listChildren(delivery).find(({ name }) => name === 'POST')).toMatchObject({
      ...{ kind: CLIENT, attributes: { 'http.response.status_code': 204 } },
    });
  });

  test('says nothing of prompts, keys, queries and unknown paths', () => {
    const sent = collector.requests.map(({ body }) => body).join('\n');
    for (const secret of [PROMPT, key, 'demo-vendor-key', 'of-the-query', 'of-the-receiver', HEADER_SECRET, 'no-such'])
      expect(sent).not.toContain(secret);
    expect(named(/livez/)).toEqual([]);
  });

  test('comes with the resource and the headers of the operator, which no log shows', () => {
    expect(collector.requests[0]).toMatchObject({
      path: '/v1/traces',
      headers: { authorization: `Bearer ${HEADER_SECRET}`, 'content-type': 'application/json' },
    });
    expect(collector.resource).toMatchObject({
      'service.name': 'video-gate',
      'deployment.environment.name': 'test',
      'service.version': expect.any(String),
    });
    expect(log).toContain('traces are exported');
    expect(log).not.toContain(HEADER_SECRET);
  });
});

testInFullRun('a collector that is down costs one log line, and a stop does not wait for it for long', async () => {
  const gateway = await startGateway({
    env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${await freePort()}/in`, LOG_LEVEL: 'info' },
  });
  const admin = await setUp(gateway);
  await admin.quota();
  await gateway.logged('traces could not be exported');
  await admin.quota();
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  expect(metrics).toContain('taskgate_trace_spans_total{result="exported"} 0');
  const began = performance.now();
  expect(await gateway.stop()).toBe(0);
  expect(performance.now() - began).toBeLessThan(10_000);
  const lines = gateway.log().split('\n');
  expect(lines.filter((line) => line.includes('traces could not be exported'))).toHaveLength(1);
  expect(lines.filter((line) => line.includes('spans were dropped'))).toHaveLength(1);
  expect(gateway.log()).not.toContain('"stack"');
});
