/** Which images count as taken by a plugin, by what it makes of the request. */
import { expect, test } from 'bun:test';
import type { Json } from '../../src/kernel/index.ts';
import { refuseDroppedImages } from '../../src/surfaces/refuse-dropped-images.ts';

const check = (requestBody: Json, ...images: Json[]) =>
  refuseDroppedImages(
    { plugin: { layer: 'factory' }, intent: { requestBody } } as never,
    images.map((image) => ({ image, param: 'images' })),
  );

test.each<[name: string, requestBody: Json, image: Json]>([
  ['its address', { input: { frames: ['https://a.example/1.png'] } }, 'https://a.example/1.png'],
  [
    'its address in an object',
    { image: 'https://a.example/1.png' },
    { image_url: { url: ' https://a.example/1.png' } },
  ],
  ['a data URL', { image: 'data:image/png;base64,aW1hZ2U=' }, 'data:image/png;base64,aW1hZ2U='],
  ['the bytes of a data URL', [{ data: 'aW1hZ2U=' }], { url: 'data:image/png;base64,aW1hZ2U=\n' }],
])('%s is taken', (_name, requestBody, image) => {
  expect(() => check(requestBody, image)).not.toThrow();
});

test('an image that only the prompt names is refused, and so is one of two', () => {
  const address = 'https://a.example/1.png';
  expect(() => check({ prompt: `like ${address}, but blue` }, address)).toThrow('does not take this image');
  expect(() => check({ image: address }, address, 'https://a.example/2.png')).toThrow('not so many');
  expect(() => check({ image: '' }, '')).toThrow('does not take this image');
});

test('denial of service: an image that almost repeats in the prompt is refused at once', () => {
  // A search within the whole text took minutes of one request.
  const image = `${'a'.repeat(40_000)}b${'a'.repeat(40_000)}`;
  const began = performance.now();
  expect(() => check({ prompt: 'a'.repeat(160_000), end: 'bbb' }, image)).toThrow('does not take this image');
  expect(performance.now() - began).toBeLessThan(2000);
});
