import { expect, test } from 'bun:test';
import { findApiAddress } from '../../src/channels/index.ts';

test.each([
  ['https://api.vendor.test', 'https://api.vendor.test/v1'],
  ['https://api.vendor.test/api', 'https://api.vendor.test/api/v1'],
  ['https://api.vendor.test/v1', 'https://api.vendor.test/v1'],
  ['https://ark.vendor.test/api/v3', 'https://ark.vendor.test/api/v3'],
  ['https://vendor.test/api/paas/v4', 'https://vendor.test/api/paas/v4'],
  ['https://vendor.test/v1beta/openai', 'https://vendor.test/v1beta/openai'],
  ['https://vendor.test/inference/v1', 'https://vendor.test/inference/v1'],
  ['https://gateway.test/v1/account/name/openai', 'https://gateway.test/v1/account/name/openai'],
  ['https://vendor.test/video', 'https://vendor.test/video/v1'],
])('calls go below the version that an address names, else below /v1: %s', (baseUrl, expected) => {
  expect(findApiAddress(baseUrl)).toBe(expected);
});
