import { Button, Menu, Text } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../session/session-context.tsx';
import { withQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../display/error-notice.tsx';

/** A hundred thousand rows over a slow line. */
const timeoutMs = 600_000;

const formats = ['csv', 'jsonl'] as const;

type ExportMenuProps = Exported & {
  /** Another file, as CSV, below the list itself. */
  other?: Exported & { label: string };
  size?: 'xs' | 'sm';
};

type Exported = {
  /** The path of the export, such as `/api/task/export`. */
  path: string;
  /** The filter of the list. */
  query: Readonly<Record<string, string | number | null | undefined>>;
  /** The name of the file, without its ending. */
  name: string;
};

/** Saves what a list holds as a file. */
export function ExportMenu({ other, size = 'sm', ...list }: ExportMenuProps) {
  const { t } = useTranslation();
  const session = useSession();
  const [isRunning, setRunning] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const save = async ({ path, query, name }: Exported, format: (typeof formats)[number]): Promise<void> => {
    setRunning(true);
    try {
      const asked = { method: 'GET', path: withQuery(path, { ...query, format }), as: 'blob', timeoutMs } as const;
      const day = new Date().toISOString().slice(0, 10);
      downloadBlob(`${name}-${day}.${format}`, await session.send<Blob>(asked));
      setError(null);
    } catch (failure) {
      setError(failure);
      setOpen(true);
    } finally {
      setRunning(false);
    }
  };
  return (
    <Menu width={240} opened={isOpen} onChange={setOpen}>
      <Menu.Target>
        <Button
          variant="default"
          size={size}
          loading={isRunning}
          leftSection={<IconDownload size={17} stroke={1.6} aria-hidden="true" />}
        >
          {t('export.export')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {error !== null && <ErrorNotice error={error} />}
        {formats.map((format) => (
          <Menu.Item key={format} onClick={() => void save(list, format)}>
            {t(`export.${format}`)}
          </Menu.Item>
        ))}
        {other && <Menu.Item onClick={() => void save(other, 'csv')}>{other.label}</Menu.Item>}
        <Text size="xs" c="dimmed" px={12} py={6} role="presentation">
          {t('export.limit')}
        </Text>
      </Menu.Dropdown>
    </Menu>
  );
}

/** Downloads a text as a file. */
export const downloadText = (name: string, text: string): void =>
  downloadBlob(name, new Blob([text], { type: 'text/plain' }));

/** Downloads bytes as a file. */
export function downloadBlob(name: string, blob: Blob): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser reads the URL asynchronously, so it is revoked later.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
