import type { JsonObject } from '../../kernel/index.ts';
import { chooseRange, type LoadedPlugin } from '../../plugins/index.ts';
import type { TaskProperties } from '../../store/ports/index.ts';
import type { PreparedSubmission } from './prepare-submission.ts';
import { firstValue, readFields } from './read-request.ts';

/** A video object cannot show longer values. */
const MAX_LENGTH = 32;

/**
 * Length and size of a video as its object shows them before a plugin has rendered it: what the
 * request asked for, else what is billed, else the first that the plugin makes. Nothing for a
 * plugin without videos.
 */
export function videoFields(submission: PreparedSubmission): Pick<TaskProperties, 'video'> {
  const { plugin, request, intent, originTasks, quote, upstreamModel } = submission;
  if (!plugin.manifest.protocols.some(({ name }) => name === 'proto_video')) return {};
  const decoded = intent.requestBody;
  const sources = [readFields(request), readFields({ body: { kind: 'json', value: decoded ?? null } })];
  const asked = (name: string): string | undefined => firstText(sources, [name]);
  const { facts } = quote.snapshot;
  const made = defaultFacts(plugin, [upstreamModel, intent.model]);
  const spans = Object.entries(plugin.manifest.usageSchema).flatMap(([name, field]) =>
    field.kind === 'number' && field.unit === 'second' ? [name] : [],
  );
  const remixed = originTasks?.tasks[0]?.taskId;
  const numbers = Object.entries({ fps: asked('fps'), seed: asked('seed') }).flatMap(([name, text]) =>
    text === undefined || !Number.isSafeInteger(Number(text)) ? [] : [[name, Number(text)] as const],
  );
  const video = {
    ...Object.fromEntries(numbers),
    ...readLengthAndSize({ asked: sources, facts, made, spans }),
    ...(remixed === undefined ? {} : { remixed_from_video_id: remixed }),
  };
  return Object.keys(video).length === 0 ? {} : { video };
}

/** `asked`: by the request. `made`: what is made by default. `spans`: facts that are lengths. */
type VideoSources = { asked: readonly JsonObject[]; facts: JsonObject; made?: JsonObject; spans?: readonly string[] };

/** Length and size of a video: what was asked for, else what is billed, else what is made. */
export function readLengthAndSize({
  asked,
  facts,
  made = {},
  spans = [],
}: VideoSources): Pick<NonNullable<TaskProperties['video']>, 'seconds' | 'size'> {
  const lengths = ['seconds', 'duration'];
  const seconds = firstText(asked, lengths) ?? firstText([facts, made], [...lengths, ...spans]);
  const all = [...asked, facts, made];
  const [width, height] = [firstText(asked, ['width']), firstText(asked, ['height'])];
  const size =
    firstText([...asked, facts], ['size']) ??
    (width && height ? `${width}x${height}` : undefined) ??
    sizeFor(firstText(all, ['resolution']), firstText(all, ['aspect_ratio', 'ratio', 'aspectRatio'])) ??
    firstText([made], ['size']);
  return {
    ...(seconds === undefined ? {} : { seconds: seconds.replace(/^(\d+(?:\.\d+)?)s$/, '$1') }),
    ...(size === undefined ? {} : { size: size.replace(/^(\d+)[*×](\d+)$/, '$1x$2') }),
  };
}

/** The first of these members that is a number or a short text. */
function firstText(sources: readonly JsonObject[], names: readonly string[]): string | undefined {
  for (const source of sources) {
    for (const name of names) {
      const single = firstValue(source[name]);
      const text = typeof single === 'number' ? String(single) : single;
      if (typeof text === 'string' && text !== '' && text.length <= MAX_LENGTH) return text;
    }
  }
  return undefined;
}

/** 720p at 16:9 is 1280x720. Undefined for a resolution that says no number of lines. */
function sizeFor(resolution: string | undefined, ratio: string | undefined): string | undefined {
  const [, lines] = /^(\d{3,4})p$/i.exec(resolution ?? '') ?? [];
  if (lines === undefined) return undefined;
  const [across = '16', down = '9'] = /^\d{1,2}:\d{1,2}$/.test(ratio ?? '') ? (ratio ?? '').split(':') : [];
  const short = Number(lines);
  const [wide, high] = [Number(across) || 16, Number(down) || 9];
  const long = 2 * Math.round((short * Math.max(wide, high)) / Math.min(wide, high) / 2);
  return wide >= high ? `${long}x${short}` : `${short}x${long}`;
}

/** The smallest of each fact that the plugin takes for one of these models. */
function defaultFacts({ manifest: { usageSchema, vendor } }: LoadedPlugin, models: readonly string[]): JsonObject {
  const facts: JsonObject = {};
  for (const [name, field] of Object.entries(usageSchema)) {
    const range = chooseRange(vendor?.ranges?.[name], models);
    const [first] = range?.kind === 'values' ? range.values : field.kind === 'enum' ? field.values : [];
    if (first !== undefined) facts[name] = first;
    else if (range?.kind === 'numbers') facts[name] = range.minimum;
  }
  return facts;
}
