import { err, ok } from '../../kernel/index.ts';
import { boolean, oneOf, text, type ValueKind } from './config-kinds.ts';
import { variable } from './define-variable.ts';

export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

export type SamplerName = (typeof SAMPLERS)[number];

const MAX_PAIRS = 64;

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

/** The same as names and values of HTTP headers. */
const headerPairs: typeof pairs = {
  ...pairs,
  type: 'secret',
  parse(value) {
    const read = pairs.parse(value);
    if (!read.ok) return read;
    const isHeader = ([name, content]: [string, string]) =>
      /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name) && /^[\t\x20-\x7e]*$/.test(content);
    return Object.entries(read.value).every(isHeader) ? read : err('a pair is no header');
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

const share: ValueKind<number> = {
  type: 'number',
  allowed: 'a number from 0 to 1',
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
  otlpHeaders: variable({
    env: 'OTEL_EXPORTER_OTLP_HEADERS',
    group: 'traces',
    doc: 'Headers for the collector, such as its key.',
    kind: headerPairs,
    default: {},
    defaultText: 'none',
    secret: true,
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
