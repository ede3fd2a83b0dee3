import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import { relayErrors } from '../errors.ts';

/** Members that tell the vendor where else a recording is. */
const ELSEWHERE = /(?:^|[_-])(?:file|audio|media|url|uri|link|address)s?$/i;
const ADDRESS = /^(?:[a-z][a-z0-9+.-]{0,30}:\/\/|data:|\/\/)/i;
/** Samples of the voices that OpenAI tells apart. They last up to ten seconds each. */
const SPEAKERS = 'known_speaker_references';
const SPEAKER_SECONDS = 10;
const SAMPLE = /^data:audio\//i;

/**
 * Refuses sound that is not in the request, where its length is what is billed: a vendor that
 * fetches it, and reports no length, would work for nothing.
 * @throws tasks.relay_request_invalid
 */
export function refuseUnmeasurableAudio(files: readonly { size: number }[], values: JsonObject): void {
  const elsewhere = Object.keys(values).find(
    (name) => name !== 'prompt' && !hasSamples(name, values[name]) && isElsewhere(name, values[name]),
  );
  const param = files.some(({ size }) => size > 0) ? elsewhere : 'file';
  if (param === undefined) return;
  const message = 'This model is billed by the length of the sound: upload the recording as `file`, not its address.';
  throw relayErrors.relay_request_invalid({ message, param });
}

/** The seconds that the samples of voices in the request may last. */
export const speakerSeconds = (values: JsonObject): number =>
  Object.keys(values).reduce((sum, name) => sum + SPEAKER_SECONDS * listSamples(name, values[name]).length, 0);

const listSamples = (name: string, value: Json | undefined): Json[] =>
  name.split('[', 1)[0] === SPEAKERS ? [value ?? []].flat() : [];

function hasSamples(name: string, value: Json | undefined): boolean {
  const samples = listSamples(name, value);
  return samples.length > 0 && samples.every((sample) => typeof sample === 'string' && SAMPLE.test(sample));
}

function isElsewhere(name: string, value: Json | undefined): boolean {
  if (value === undefined || value === null || value === '') return false;
  if (ELSEWHERE.test(name.split('[', 1)[0] ?? '')) return true;
  if (typeof value === 'string') return ADDRESS.test(value.trimStart());
  if (Array.isArray(value)) return value.some((item) => isElsewhere('', item));
  return isObject(value) && Object.entries(value).some(([member, inner]) => isElsewhere(member, inner as Json));
}
