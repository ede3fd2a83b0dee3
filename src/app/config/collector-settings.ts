import { sentence, trimTrailing } from '../../kernel/index.ts';
import type { SettingWarning } from '../../settings/index.ts';
import type { CollectorSettings } from '../../telemetry/index.ts';
import type { Config } from './config-variables.ts';

/** `undefined` while no collector is named, or traces are switched off. */
export function collectorSettings(config: Config): CollectorSettings | undefined {
  const url = collectorUrl(config);
  if (url === '') return undefined;
  return {
    url,
    headers: mergeHeaders(config.otlpHeaders, config.otlpTracesHeaders),
    timeoutMs: config.otlpTracesTimeoutMs ?? config.otlpTimeoutMs,
    gzip: (config.otlpTracesCompression ?? config.otlpCompression) === 'gzip',
    certificate: config.otlpTracesCertificate ?? config.otlpCertificate,
  };
}

/** Empty for nowhere. */
export function collectorUrl({
  otelDisabled,
  otelTracesExporter,
  otlpEndpoint,
  otlpTracesEndpoint,
}: Pick<Config, 'otelDisabled' | 'otelTracesExporter' | 'otlpEndpoint' | 'otlpTracesEndpoint'>): string {
  if (otelDisabled || otelTracesExporter === 'none') return '';
  if (otlpTracesEndpoint !== '' || otlpEndpoint === '') return otlpTracesEndpoint;
  const url = new URL(otlpEndpoint);
  url.pathname = `${trimTrailing(url.pathname, '/')}/v1/traces`;
  return url.href;
}

/** Warns that the configured protocol is not used; empty when there is nothing to say. */
export function warnOfProtocol(config: Config): SettingWarning[] {
  const wanted = config.otlpTracesProtocol ?? config.otlpProtocol;
  if (wanted === 'http/json' || collectorUrl(config) === '') return [];
  const name =
    config.otlpTracesProtocol === undefined ? 'OTEL_EXPORTER_OTLP_PROTOCOL' : 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL';
  const reason = wanted === 'grpc' ? 'config.traces_json_port' : 'config.traces_json';
  return [{ setting: name, code: 'setting_doubtful', ...sentence(reason, { name, protocol: wanted }) }];
}

/** Names of headers are the same in any case. */
function mergeHeaders(
  all: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const named = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  return { ...Object.fromEntries(Object.entries(all).filter(([name]) => !named.has(name.toLowerCase()))), ...own };
}
