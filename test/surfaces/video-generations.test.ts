import { expect, test } from 'bun:test';
import type { JsonObject } from '../../src/kernel/index.ts';
import { readEdit, readGeneration } from '../../src/surfaces/videos/video-generations.ts';
import type { ClientRequest } from '../../src/tasks/index.ts';
import { jsonRequest } from '../tasks/harness.ts';

const sent = (text: string): ClientRequest => {
  const value = JSON.parse(text) as JsonObject;
  return { ...jsonRequest(value), body: { kind: 'json', value, text } };
};
const readText = ({ body }: ClientRequest) => (body.kind === 'json' ? body.text : undefined);

test('what the gateway does not translate reaches a relay as the client wrote it', () => {
  const generation =
    '{ "model":"m", "seed": 12345678901234567890, "cfg": 7.50, "n": 1, "duration": 5, "x": {"a" : 1e2} }';
  expect(readText(readGeneration(sent(generation)))).toBe(
    '{ "model":"m", "seed": 12345678901234567890, "cfg": 7.50, "x": {"a" : 1e2} ,"seconds":"5"}',
  );
  const edit = '{"video":{"id":"v1"}, "seed": 12345678901234567890, "prompt":"a\\u00e9"}';
  const { id, client } = readEdit(sent(edit));
  expect([id, readText(client)]).toEqual(['v1', '{"seed": 12345678901234567890, "prompt":"a\\u00e9"}']);
});
