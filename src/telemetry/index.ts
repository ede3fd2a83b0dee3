/**
 * Owns: what the gateway says of itself: log lines and their redaction, the log file, measured
 * figures, recorded spans and their way to a collector. May touch: the log file, standard error,
 * the collector through `upstream`. Never touches: what the rooms above do; `app` adapts them.
 * Which file measures what stands in `app/telemetry/register-metrics.ts`.
 * OpenTelemetry is loaded by `tracing/start-tracing.ts` alone, once a collector is named.
 */
export type { CollectorSettings, SpanFate } from './tracing/types.ts';
