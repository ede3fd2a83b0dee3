import { err, ok, sentence } from '../../kernel/index.ts';
import { SAMPLERS, type SamplerName } from '../../telemetry/tracing/types.ts';
import { boolean, integer, oneOf, pemFile, text, type ValueKind } from './config-kinds.ts';
import { variable } from './define-variable.ts';

const PROTOCOLS = ['http/json', 'http/protobuf', 'grpc'] as const;
type Protocol = (typeof PROTOCOLS)[number];

const MAX_PAIRS = 64;
/** How long the collector may take for a batch, by OpenTelemetry's default. */
const TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 600_000;

/** `key=value,key=value` with percent-encoded values, as OpenTelemetry writes lists. */
const pairs: ValueKind<Readonly<Record<string, string>>> = {
  type: 'pairs',
  allowed: `key=value, comma-separated, values percent-encoded, at most ${MAX_PAIRS} (team=video,env=prod)`,
  parse(value) {
    const read: Record<string, string> = {};
    const items = value.split(',').filter((item) => item.trim() !== '');
    if (items.length > MAX_PAIRS) return err('too many pairs');
    for (const item of items) {
      const at = item.indexOf('=');
      const key = item.slice(0, at).trim();
      if (at < 1 || key === '') return err('a pair has no key');
      try {
        read[key] = decodeURIComponent(item.slice(at + 1).trim());
      } catch {
        return err('a value is not percent-encoded');
      }
    }
    return ok(read);
  },
};

/** These as names and values of HTTP headers. */
const headerPairs: typeof pairs = {
  ...pairs,
  type: 'secret',
  parse(value) {
    const read = pairs.parse(value);
    if (!read.ok) return read;
    const isHeader = ([name, content]: [string, string]) =>
      /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name) && /^[\t\x20-\x7e]*$/.test(content);
    return Object.entries(read.value).every(isHeader) ? read : err('a pair is not a header');
  },
};

/** Credentials belong in OTEL_EXPORTER_OTLP_HEADERS: an address may be shown. */
const collector: ValueKind<string> = {
  type: 'URL',
  allowed: 'an address with http or https, without user info (http://127.0.0.1:4318)',
  parse(value) {
    if (!URL.canParse(value)) return err('');
    const { protocol, hostname, username, password } = new URL(value);
    if (username !== '' || password !== '') return err('user info is not accepted');
    return /^https?:$/.test(protocol) && hostname !== '' ? ok(value) : err('');
  },
};

const protocol = oneOf(...PROTOCOLS);
const compression = oneOf('none', 'gzip');

/** A variable of traces alone. While it is unset, that of the same name without TRACES holds. */
const ofTraces = <T>(kind: ValueKind<T>): ValueKind<T | undefined> => kind;

const share: ValueKind<number> = {
  type: 'number',
  allowed: 'a number from 0 to 1',
  allowedSentence: sentence('config.allowed_share'),
  parse: (value) => (/^\d(?:\.\d{1,9})?$/.test(value) && Number(value) <= 1 ? ok(Number(value)) : err('')),
};

/** Where traces go. The names that begin with OTEL are OpenTelemetry's own. */
export const TRACE_VARIABLES = {
  otlpEndpoint: variable({
    env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    group: 'traces',
    doc: 'A collector that speaks OTLP over HTTP with JSON: traces are sent to /v1/traces below this address. While it is unset, nothing is recorded. See operating/monitoring.md.',
    kind: collector,
    default: '',
    defaultText: 'unset: no traces',
    secret: true,
  }),
  otlpTracesEndpoint: variable({
    env: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    group: 'traces',
    doc: 'The whole address that traces are sent to, instead of OTEL_EXPORTER_OTLP_ENDPOINT.',
    kind: collector,
    default: '',
    defaultText: 'unset',
    secret: true,
  }),
  otlpProtocol: variable({
    env: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    group: 'traces',
    doc: 'Traces go out as http/json, which collectors take at the same port as http/protobuf. The other two are accepted with a warning.',
    kind: protocol,
    default: 'http/json' as Protocol,
    fallback: true,
  }),
  otlpTracesProtocol: variable({
    env: 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
    group: 'traces',
    doc: 'The same, for traces alone.',
    kind: ofTraces(protocol),
    default: undefined,
    defaultText: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    fallback: true,
  }),
  otlpHeaders: variable({
    env: 'OTEL_EXPORTER_OTLP_HEADERS',
    group: 'traces',
    doc: 'Headers for the collector, such as its key.',
    kind: headerPairs,
    default: {},
    defaultText: 'none',
    secret: true,
  }),
  otlpTracesHeaders: variable({
    env: 'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
    group: 'traces',
    doc: 'More of them, for traces alone; of two with one name this one is sent.',
    kind: headerPairs,
    default: {},
    defaultText: 'none',
    secret: true,
  }),
  otlpCertificate: variable({
    env: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
    group: 'traces',
    doc: "Authorities whose certificates the collector may have, instead of the system's.",
    kind: pemFile,
    default: '',
    defaultText: 'public authorities',
  }),
  otlpTracesCertificate: variable({
    env: 'OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE',
    group: 'traces',
    doc: 'The same, for traces alone.',
    kind: ofTraces(pemFile),
    default: undefined,
    defaultText: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
  }),
  otlpTimeoutMs: variable({
    env: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    group: 'traces',
    doc: 'Milliseconds that the collector may take for a batch.',
    kind: integer(1, MAX_TIMEOUT_MS),
    default: TIMEOUT_MS,
    fallback: true,
  }),
  otlpTracesTimeoutMs: variable({
    env: 'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT',
    group: 'traces',
    doc: 'The same, for traces alone.',
    kind: ofTraces(integer(1, MAX_TIMEOUT_MS)),
    default: undefined,
    defaultText: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    fallback: true,
  }),
  otlpCompression: variable({
    env: 'OTEL_EXPORTER_OTLP_COMPRESSION',
    group: 'traces',
    doc: 'Whether batches are compressed.',
    kind: compression,
    default: 'none' as 'none' | 'gzip',
    fallback: true,
  }),
  otlpTracesCompression: variable({
    env: 'OTEL_EXPORTER_OTLP_TRACES_COMPRESSION',
    group: 'traces',
    doc: 'The same, for traces alone.',
    kind: ofTraces(compression),
    default: undefined,
    defaultText: 'OTEL_EXPORTER_OTLP_COMPRESSION',
    fallback: true,
  }),
  otelServiceName: variable({
    env: 'OTEL_SERVICE_NAME',
    group: 'traces',
    doc: 'The name of this service in traces.',
    kind: text(),
    default: '',
    defaultText: 'taskgate',
  }),
  otelResource: variable({
    env: 'OTEL_RESOURCE_ATTRIBUTES',
    group: 'traces',
    doc: 'What traces say about this node, beside its name, version and id.',
    kind: pairs,
    default: {},
    defaultText: 'none',
  }),
  otelSampler: variable({
    env: 'OTEL_TRACES_SAMPLER',
    group: 'traces',
    doc: 'Which traces are recorded. The parentbased ones leave out what the caller does not record; see TRACES_TRUST_CALLERS.',
    kind: oneOf(...SAMPLERS),
    default: 'parentbased_always_on' as SamplerName,
    fallback: true,
  }),
  otelSamplerShare: variable({
    env: 'OTEL_TRACES_SAMPLER_ARG',
    group: 'traces',
    doc: 'The share that traceidratio and parentbased_traceidratio record.',
    kind: share,
    default: 1,
    fallback: true,
  }),
  otelTracesExporter: variable({
    env: 'OTEL_TRACES_EXPORTER',
    group: 'traces',
    doc: 'none switches traces off, whatever else is set.',
    kind: oneOf('otlp', 'none'),
    default: 'otlp',
    fallback: true,
  }),
  otelDisabled: variable({
    env: 'OTEL_SDK_DISABLED',
    group: 'traces',
    doc: 'Switches traces off, whatever else is set.',
    kind: boolean,
    default: false,
    fallback: true,
  }),
  tracesTrustCallers: variable({
    env: 'TRACES_TRUST_CALLERS',
    group: 'traces',
    doc: 'Lets the traceparent header of any caller decide that a trace is recorded, where the sampler is parentbased. Otherwise it gives the trace its id only, and the sampler decides as without it.',
    kind: boolean,
    default: false,
  }),
  tracesToVendors: variable({
    env: 'TRACES_TO_VENDORS',
    group: 'traces',
    doc: 'Sends the traceparent header to vendors with recorded requests. It says nothing but random ids.',
    kind: boolean,
    default: false,
  }),
};
