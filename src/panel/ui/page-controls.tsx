import { ActionIcon, type MantineColorScheme, Menu, useMantineColorScheme } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { changeLanguage } from '../i18n/create-i18n.ts';
import { languages } from '../i18n/languages.ts';
import type { TextKey } from '../i18n/texts.ts';
import { IconContrast, IconGlobe } from './icons.tsx';

const schemes = {
  light: 'app.scheme.light',
  dark: 'app.scheme.dark',
  auto: 'app.scheme.auto',
} as const satisfies Record<MantineColorScheme, TextKey>;

/** Language and colour scheme: on every page, at the same place. */
export function PageControls() {
  const { t, i18n } = useTranslation();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <div style={{ display: 'flex', gap: 4 }}>
      <Menu position="bottom-end" width={176}>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" size={40} aria-label={t('app.language')}>
            <IconGlobe />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.RadioGroup value={i18n.language} onChange={(value: string) => void changeLanguage(i18n, value)}>
            {Object.entries(languages).map(([language, { name, tag }]) => (
              <Menu.RadioItem key={language} value={language} lang={tag}>
                {name}
              </Menu.RadioItem>
            ))}
          </Menu.RadioGroup>
        </Menu.Dropdown>
      </Menu>
      <Menu position="bottom-end" width={176}>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" size={40} aria-label={t('app.scheme')}>
            <IconContrast />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.RadioGroup
            value={colorScheme}
            onChange={(value: string) => setColorScheme(value as MantineColorScheme)}
          >
            {Object.entries(schemes).map(([scheme, text]) => (
              <Menu.RadioItem key={scheme} value={scheme}>
                {t(text)}
              </Menu.RadioItem>
            ))}
          </Menu.RadioGroup>
        </Menu.Dropdown>
      </Menu>
    </div>
  );
}
