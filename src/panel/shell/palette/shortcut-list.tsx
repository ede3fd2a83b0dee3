import { Kbd, Modal } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { TextKey } from '../../i18n/texts.ts';
import classes from './shortcut-list.module.css';

const shortcuts: readonly { keys: readonly string[]; text: TextKey }[] = [
  { keys: ['Ctrl', 'K'], text: 'shortcuts.palette' },
  { keys: ['/'], text: 'shortcuts.search' },
  { keys: ['J'], text: 'shortcuts.next' },
  { keys: ['K'], text: 'shortcuts.previous' },
  { keys: ['Enter'], text: 'shortcuts.open' },
  { keys: ['Ctrl', 'Enter'], text: 'shortcuts.run' },
  { keys: ['Esc'], text: 'shortcuts.close' },
  { keys: ['?'], text: 'shortcuts.help' },
];

/** The shortcuts of the panel. */
export function ShortcutList({ onClose }: { onClose(): void }) {
  const { t } = useTranslation();
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('shortcuts.title')}
      closeButtonProps={{ 'aria-label': t('app.close') }}
      size="md"
    >
      <dl className={classes.list}>
        {shortcuts.map(({ keys, text }) => (
          <div key={text} className={classes.row}>
            <dt>{t(text)}</dt>
            <dd>
              {keys.map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Modal>
  );
}
