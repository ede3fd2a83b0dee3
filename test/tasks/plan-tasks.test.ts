import { expect, test } from 'bun:test';
import type { WaitingCount } from '../../src/store/ports/index.ts';
import { planTasks } from '../../src/tasks/dispatch/plan-tasks.ts';
import type { TaskDeps } from '../../src/tasks/types.ts';

const plugin = { manifest: { channelTypes: [] }, suspended: () => false };
const toAccount = (model: string) => ({ channel: { id: model, modelMapping: {} }, credential: { id: model } });

/** Each model has an account of its own with `free` slots. */
const depsWith = (free: number): TaskDeps =>
  ({
    pin: () => ({ generation: { plugins: new Map([['demo', plugin]]) }, release: () => {} }),
    vendors: {
      channels: {
        accounts: () => [1],
        pick: ({
          model,
          except,
          hasFreeSlot,
        }: {
          model: string;
          except: string[];
          hasFreeSlot: (one: object) => boolean;
        }) => (except.includes(model) || !hasFreeSlot(toAccount(model)) ? undefined : toAccount(model)),
      },
    },
    node: {
      capacity: {
        scope: ({ credential }: { credential: { id: string } }, model: string) => ({
          credentialId: credential.id,
          pool: model,
          model,
        }),
        freeSlots: () => free,
        running: () => 0,
      },
    },
  }) as unknown as TaskDeps;

const waits = (model: string, priority = 0): WaitingCount =>
  ({ class: model, plugin: 'demo', model, group: '', channelId: 0, priority, waiting: 100, parked: 0 }) as WaitingCount;

const models = (classes: WaitingCount[], turn: number): string[] =>
  planTasks(depsWith(50), { classes, most: 16, turn }).map(({ waitingClass }) => waitingClass.model);

test('each class is planned first in its turn, so that none takes every batch', () => {
  const classes = ['a', 'b', 'c'].map((model) => waits(model));
  expect([0, 1, 2, 3].map((turn) => models(classes, turn).join(''))).toEqual(['abc', 'bca', 'cab', 'abc']);
});

test('a higher priority is always planned first', () => {
  const classes = [waits('a'), waits('b'), waits('c', 1)];
  expect([0, 1].map((turn) => models(classes, turn).join(''))).toEqual(['cab', 'cba']);
});
