import type { RowsFormat } from '../../ui/form/rows/rows-format.ts';

const publicKey = /^RW[QRST][A-Za-z0-9+/]{53}$/;

/** Sources of the marketplace as rows of fields. The gateway has the same limits. */
export const sourceRows: RowsFormat = {
  columns: [
    { label: 'market.sourceName', kind: 'text', isUnique: true },
    {
      label: 'market.sourceAddress',
      kind: 'text',
      pattern: {
        matches: (text) => /^(?:https?|file):\/\/\S+$/i.test(text) && URL.canParse(text),
        fault: 'settings.addressInvalid',
      },
      placeholder: { text: 'https://example.com/plugins/index.json' },
    },
    {
      label: 'market.sourceKey',
      kind: 'text',
      isOptional: true,
      pattern: { matches: (text) => publicKey.test(text), fault: 'rows.keyInvalid' },
      placeholder: { key: 'market.sourceKeyOptional' },
      hint: 'market.sourceKeyHint',
    },
  ],
  layout: 'card',
  add: 'market.addSource',
  maximum: 20,
};

/** `null` unpins the source. */
export type SentSource = { name: string; index_url: string; public_key: string | null };

export function toSource(cells: readonly string[]): SentSource {
  const [name = '', index_url = '', key = ''] = cells.map((text) => text.trim());
  return { name, index_url, public_key: key === '' ? null : key };
}

export const toSourceCells = (source: { name?: unknown; index_url?: unknown; public_key?: unknown }) =>
  [source.name, source.index_url, source.public_key].map((field) => String(field ?? ''));
