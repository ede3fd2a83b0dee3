import { type SpanContext, SpanKind } from '@opentelemetry/api';
import type { TaskMeter, TaskTracer } from '../../tasks/index.ts';
import type { Recorder } from './create-recorder.ts';
import { isSampled, readTraceparent, writeTraceparent } from './trace-context.ts';

/** Submissions inside of their request; polls and webhooks as traces that link to it. */
export function traceTasks(recorder: Recorder): TaskTracer {
  return {
    submission(facts, run) {
      const parent = recorder.current();
      if (!parent) return run();
      const span = recorder.start('submission', { kind: SpanKind.INTERNAL, facts, parent });
      return recorder.run(span, run);
    },
    later({ name, facts, contexts }, run) {
      const links = contexts
        .map(readTraceparent)
        .filter((each): each is SpanContext => each !== undefined && isSampled(each));
      // Work that a recorded request happens to begin must not become a part of it.
      if (links.length === 0) return recorder.outside(run);
      return recorder.run(recorder.start(name, { kind: SpanKind.INTERNAL, facts, links }), run);
    },
    note(facts) {
      recorder.current()?.setAttributes({ ...facts });
    },
    context() {
      const span = recorder.current();
      return span && writeTraceparent(span.spanContext());
    },
  };
}

/** The phases of a submission as events of its span. */
export function traceMeter(recorder: Recorder, meter: TaskMeter): TaskMeter {
  return {
    ...meter,
    phase(phase, ms) {
      meter.phase(phase, ms);
      recorder.current()?.addEvent(phase, { 'taskgate.duration_ms': Math.round(ms * 1000) / 1000 });
    },
  };
}
