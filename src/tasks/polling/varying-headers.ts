/**
 * Response headers that differ from answer to answer and say nothing about the task. Whole names
 * only: a vendor may announce the end of a task by a header such as `x-result-id`.
 */
const VARYING_HEADERS: ReadonlySet<string> = new Set([
  // HTTP, and what gateways and networks add: RFC 9110, Cloudflare, Envoy, Kong, tracing.
  ...['date', 'age', 'expires', 'etag', 'set-cookie', 'server-timing', 'report-to', 'nel', 'cf-ray'],
  ...['x-envoy-upstream-service-time', 'x-kong-upstream-latency', 'x-kong-proxy-latency', 'x-runtime'],
  ...['traceparent', 'tracestate', 'x-b3-traceid', 'x-b3-spanid'],
  // OpenAI, and Azure.
  ...['openai-processing-ms', 'apim-request-id', 'x-ms-request-id', 'x-ms-client-request-id'],
  // Alibaba Cloud.
  ...['req-cost-time', 'req-arrive-time', 'resp-start-time', 'eagleid', 'eagleeye-traceid'],
  // Volcengine.
  ...['x-tt-logid', 'x-tt-trace-host', 'x-tt-trace-id', 'x-tt-trace-tag', 'x-client-request-id'],
  // MiniMax.
  ...['minimax-request-id', 'x-minimax-request-id', 'x-mm-request-id', 'x-session-id'],
  ...['alb_request_id', 'alb_receive_time'],
  // Amazon.
  ...['x-amz-request-id', 'x-amz-id-2', 'x-amz-cf-id', 'x-amzn-requestid', 'x-amzn-trace-id'],
]);
const VARYING_PATTERN =
  /^(?:x-)?(?:(?:request|trace|correlation|span)-?id|(?:response|processing|request)-?time)$|(?:^|-)rate-?limit(?:-|$)/;

/** `name`: in lower case. */
export const isVaryingHeader = (name: string): boolean => VARYING_HEADERS.has(name) || VARYING_PATTERN.test(name);
