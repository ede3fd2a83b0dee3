import { describe, expect, test } from 'bun:test';
import { createSecretBox } from '../../../src/kernel/index.ts';
import { modelRequestSettings } from '../../../src/settings/auth-settings.ts';
import { isOptionKey, ruleFor } from '../../../src/settings/catalogue/option-catalogue.ts';
import { readOptions } from '../../../src/settings/read-options.ts';

const PREFIX = 'ModelRequestRateLimit';

describe('options of the limit of model requests', () => {
  const rows: [name: string, type: string, initial: string, taken: string[], refused: string[]][] = [
    ['Enabled', 'boolean', 'false', ['true', 'false'], ['', 'TRUE', '1', 'yes', ' true']],
    ['DurationMinutes', 'integer', '1', ['1', '60', '1440'], ['0', '', '-1', '1.5', '1e2', '1441', ' 5', 'ten']],
    ['Count', 'integer', '0', ['0', '1', '1000000'], ['-1', '', '1000001', '0x10', 'NaN']],
    ['SuccessCount', 'integer', '1000', ['1', '1000000'], ['0', '', '1000001', 'Infinity', '99999999999999999999']],
    [
      'Group',
      'json',
      '{}',
      ['{}', '{"default":[0,1]}', '{"default":[200,100],"vip":[0,1000000]}'],
      [
        '',
        '[]',
        'null',
        '{"a":1}',
        '{"a":[1]}',
        '{"a":[0,0]}',
        '{"a":[-1,1]}',
        '{"a":[0,1,2]}',
        '{"a":["0","1"]}',
        '{"a":[0,1.5]}',
        '{"a":[0,1000001]}',
        '{"a":[0,1]',
        JSON.stringify(Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`g${i}`, [0, 1]]))),
      ],
    ],
  ];
  test.each(rows)('%s', (name, type, initial, taken, refused) => {
    const key = PREFIX + name;
    const rule = isOptionKey(key) ? ruleFor(key) : undefined;
    expect([rule?.type, rule?.default]).toEqual([type as 'json', initial]);
    for (const value of [initial, ...taken]) expect([value, rule?.check(value)]).toEqual([value, undefined]);
    for (const value of refused) expect([value, typeof rule?.check(value)]).toEqual([value, 'string']);
  });

  const readSettings = (stored: Record<string, string>) => {
    const rows = Object.entries(stored).map(([key, value]) => ({ key, value }));
    return modelRequestSettings(readOptions(rows, createSecretBox(['a secret']))).window;
  };

  const ON = { [`${PREFIX}Enabled`]: 'true' };

  test('off unless it is switched on, then a thousand successes per minute', () => {
    expect(readSettings({})).toBeUndefined();
    expect(readSettings(ON)).toEqual({ seconds: 60, total: 0, success: 1000, groups: new Map() });
  });

  test('stored values apply', () => {
    expect(
      readSettings({
        ...ON,
        [`${PREFIX}DurationMinutes`]: '5',
        [`${PREFIX}Count`]: '20',
        [`${PREFIX}SuccessCount`]: '10',
        [`${PREFIX}Group`]: '{"vip":[0,500],"__proto__":[1,2]}',
      }),
    ).toEqual({
      seconds: 300,
      total: 20,
      success: 10,
      groups: new Map([
        ['vip', { total: 0, success: 500 }],
        ['__proto__', { total: 1, success: 2 }],
      ]),
    });
  });

  test('a stored value that is not allowed (from an older database) is ignored', () => {
    expect(readSettings({ [`${PREFIX}Enabled`]: 'perhaps' })).toBeUndefined();
    expect(
      readSettings({
        ...ON,
        [`${PREFIX}DurationMinutes`]: '0',
        [`${PREFIX}Count`]: '-5',
        [`${PREFIX}SuccessCount`]: '0',
        [`${PREFIX}Group`]: '{"vip":[0,0]}',
      }),
    ).toEqual(readSettings(ON));
  });
});
