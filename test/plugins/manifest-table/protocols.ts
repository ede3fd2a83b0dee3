import { m, type Row } from './base.ts';

const claim = (...protocols: unknown[]): object => m({ protocols });
const video = (more: object): object => claim({ name: 'proto_video', ...more });
const responses = (supports: unknown, more: object = {}): object =>
  claim({ name: 'proto_responses', supports, ...more });

/** Claims on the host's protocols. */
export const protocols: readonly Row[] = [
  ['protocols as text', m({ protocols: 'proto_video' }), '/protocols protocols.type'],
  ['protocols as object', m({ protocols: { proto_video: {} } }), '/protocols protocols.type'],
  ['a number as protocol', claim(1), '/protocols/0 protocol.type'],
  ['a list as protocol', claim([]), '/protocols/0 protocol.type'],
  ['a protocol null', claim(null), '/protocols/0 protocol.type'],
  ['an unknown protocol', claim({ name: 'proto_music' }), '/protocols/0/name protocol.name.value'],
  [
    'supports on proto_image',
    claim({ name: 'proto_image', supports: ['sync'] }),
    '/protocols/0/supports unknown_property',
  ],
  ['proto_image twice', claim('proto_image', 'openai_image'), '/protocols protocol.unique'],
  ['a number as protocol name', claim({ name: 1 }), '/protocols/0/name protocol.name.value'],
  ['a protocol of a later contract', claim({ name: 'openai_music' }), '/protocols/0/name protocol.name.value'],
  ['an unknown bare protocol', claim('proto_music'), '/protocols/0 protocol.bare.value'],
  ['a bare protocol in capitals', claim('PROTO_VIDEO'), '/protocols/0 protocol.bare.value'],
  ['an empty bare protocol', claim(''), '/protocols/0 protocol.bare.value'],
  ['bare proto_responses', claim('proto_responses'), '/protocols/0 protocol.bare.value'],
  ['a protocol without name', claim({ models: ['acme-1'] }), '/protocols/0/name required'],
  ['an unknown protocol field', video({ path: '/x' }), '/protocols/0/path unknown_property'],
  ['an unknown field of proto_responses', responses(['sync'], { mode: 1 }), '/protocols/0/mode unknown_property'],
  ['supports on proto_video', video({ supports: ['sync'] }), '/protocols/0/supports unknown_property'],
  ['proto_responses without supports', claim({ name: 'proto_responses' }), '/protocols/0/supports required'],
  ['supports as text', responses('sync'), '/protocols/0/supports protocol.supports.type'],
  ['empty supports', responses([]), '/protocols/0/supports protocol.supports.count'],
  ['an unknown mode', responses(['sync', 'ws']), '/protocols/0/supports/1 protocol.supports.item.value'],
  ['a mode in capitals', responses(['Stream']), '/protocols/0/supports/0 protocol.supports.item.value'],
  ['retrieval as a mode', responses(['sync', 'retrieve']), '/protocols/0/supports/1 protocol.supports.item.value'],
  ['a number as mode', responses(['sync', 1]), '/protocols/0/supports/1 protocol.supports.item.type'],
  ['a mode twice', responses(['sync', 'sync']), '/protocols/0/supports/1 protocol.supports.unique'],
  ['proto_video twice', claim('proto_video', { name: 'proto_video' }), '/protocols protocol.unique'],
  ['bare proto_video twice', claim('proto_video', 'proto_video'), '/protocols protocol.unique'],
  [
    'proto_responses for two sets of models',
    claim(
      { name: 'proto_responses', supports: ['sync'], models: ['acme-1'] },
      { name: 'proto_responses', supports: ['stream'], models: ['acme-2'] },
    ),
    '/protocols protocol.unique',
  ],
  ['a protocol and its alias', claim('proto_video', 'openai_video'), '/protocols protocol.unique'],
  ['protocol models as text', video({ models: 'acme-1' }), '/protocols/0/models protocol.models.type'],
  ['empty protocol models', video({ models: [] }), '/protocols/0/models protocol.models.count'],
  ['a number as protocol model', video({ models: [1] }), '/protocols/0/models/0 protocol.models.item.type'],
  ['a foreign protocol model', video({ models: ['x'] }), '/protocols/0/models/0 protocol.models.subset'],
  ['a protocol model in other case', video({ models: ['ACME-1'] }), '/protocols/0/models/0 protocol.models.subset'],
  [
    'a foreign model of proto_responses',
    responses(['sync'], { models: ['acme-1', 'x'] }),
    '/protocols/0/models/1 protocol.models.subset',
  ],
  ['a protocol model twice', video({ models: ['acme-1', 'acme-1'] }), '/protocols/0/models/1 protocol.models.unique'],
  [
    'a protocol model twice after trimming',
    video({ models: [' acme-1', 'acme-1 '] }),
    '/protocols/0/models/1 protocol.models.unique',
  ],
  [
    'a bare alias of responses without hooks',
    claim('openai_responses'),
    '/protocols/0/supports protocol.supports.count',
  ],
  ['no protocols', claim()],
  ['a bare protocol', claim('proto_video')],
  ['a bare alias', claim('openai_video')],
  ['bare images', claim('proto_image')],
  ['the alias of images for one model', claim({ name: 'openai_image', models: ['acme-1'] })],
  ['an alias with modes', claim({ name: 'openai_responses', supports: ['stream', 'sync', 'background'] })],
  ['a protocol for one model', video({ models: ['acme-2'] })],
  ['one mode', responses(['background'])],
  ['both protocols', claim('proto_video', { name: 'proto_responses', supports: ['background', 'stream'] })],
  [
    'protocols with disjoint models',
    claim(
      { name: 'proto_video', models: ['acme-1'] },
      { name: 'proto_responses', supports: ['sync'], models: ['acme-2'] },
    ),
  ],
];
