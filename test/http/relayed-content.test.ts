import { expect, test } from 'bun:test';
import type { ApiPrincipal } from '../../src/auth/index.ts';
import { forwardRelayed } from '../../src/http/v1/answer-relayed.ts';
import type { RelayAnswer, Tasks } from '../../src/tasks/index.ts';

const answer: RelayAnswer = { status: 200, headers: {}, body: null, replayed: false };
const tasks = { relay: { forward: async () => answer } } as unknown as Tasks;
const api = { user: { id: 1 } } as ApiPrincipal;

test('slow reading: a download that nobody reads loses its connection, what waits for the vendor keeps it', async () => {
  const kept: string[] = [];
  for (const operation of ['content', 'retrieve', 'cancel', 'delete'] as const) {
    const request = new Request('http://gateway.local/v1/videos/v');
    const asked = { request, api, keepOpen: () => void kept.push(operation) };
    await forwardRelayed(tasks, 'video', asked, 'v', { operation });
  }
  expect(kept).toEqual(['retrieve', 'cancel', 'delete']);
});
