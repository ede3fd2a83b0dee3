import { expect, test } from 'bun:test';
import { describeProcessLimits } from '../../src/operations/start/check-process.ts';

const limits = (soft: string) => ({
  platform: 'linux' as const,
  readLimits: () =>
    `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft}                 1048576              files\n`,
});

test('a start warns of few descriptors and of a missing /proc, and of nothing else', () => {
  expect(describeProcessLimits(limits('1024'))).toEqual([expect.stringContaining('may open 1024 files')]);
  expect(describeProcessLimits(limits('4096'))).toEqual([]);
  expect(describeProcessLimits(limits('unlimited'))).toEqual([]);
  const missing = { platform: 'linux' as const, readLimits: () => JSON.parse('') };
  expect(describeProcessLimits(missing)).toEqual([expect.stringContaining('/proc is not mounted')]);
  expect(describeProcessLimits({ ...missing, platform: 'darwin' })).toEqual([]);
});
