/** A list of an agent's messages, of which some fail. */
import { expect, test } from 'bun:test';
import { answerBody } from '../../src/surfaces/mcp/answer-message.ts';
import { taskErrors } from '../../src/tasks/index.ts';

type Rooms = Parameters<typeof answerBody>[0];
type Call = Parameters<typeof answerBody>[1];

test.each<[string, Error]>([
  ['unexpectedly', new TypeError('boom')],
  ['for a known reason', taskErrors.vendor_timeout()],
])('a message that fails %s leaves the others their replies', async (_how, failure) => {
  const failures: unknown[] = [];
  const rooms = {
    surfaces: {
      namedModels() {
        throw failure;
      },
    },
  } as unknown as Rooms;
  const call = {
    describeFailure(error: unknown) {
      failures.push(error);
      return 'in words for clients';
    },
  } as unknown as Call;
  const message = [
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    { jsonrpc: '2.0', id: 2, method: 'ping' },
  ];
  expect(await answerBody(rooms, call, { message, version: '1' })).toEqual([
    { jsonrpc: '2.0', id: 1, error: { code: -32_603, message: 'in words for clients' } },
    { jsonrpc: '2.0', id: 2, result: {} },
  ]);
  expect(failures).toEqual([failure]);
});
