import { ActionIcon, type MantineColorScheme, useMantineColorScheme } from '@mantine/core';
import { IconContrast, IconWorld } from '@tabler/icons-react';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { changeLanguage } from '../../i18n/create-i18n.ts';
import { languages } from '../../i18n/languages.ts';
import type { TextKey } from '../../i18n/texts.ts';
import type { MenuChoice } from './choice-menu.tsx';

/** Loaded with the first click: menus would add a tenth to the sign-in page. */
const ChoiceMenu = lazy(async () => ({ default: (await import('./choice-menu.tsx')).ChoiceMenu }));

const schemes = {
  light: 'app.scheme.light',
  dark: 'app.scheme.dark',
  auto: 'app.scheme.auto',
} as const satisfies Record<MantineColorScheme, TextKey>;

/** Language and colour scheme, at the same position on every page; `isNamed`: with their names. */
export function PageControls({ isNamed = false }: { isNamed?: boolean }) {
  const { t, i18n } = useTranslation();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <div style={{ display: 'flex', gap: 4 }}>
      <Control
        isNamed={isNamed}
        label={t('app.language')}
        icon={<IconWorld size={20} stroke={1.6} aria-hidden="true" />}
        value={i18n.language}
        choices={Object.entries(languages).map(([value, { name, tag }]) => ({ value, text: name, lang: tag }))}
        onChoose={(language) => void changeLanguage(i18n, language)}
      />
      <Control
        isNamed={isNamed}
        label={t('app.scheme')}
        icon={<IconContrast size={20} stroke={1.6} aria-hidden="true" />}
        value={colorScheme}
        choices={Object.entries(schemes).map(([value, text]) => ({ value, text: t(text) }))}
        onChoose={(scheme) => setColorScheme(scheme as MantineColorScheme)}
      />
    </div>
  );
}

type ControlProps = {
  isNamed: boolean;
  label: string;
  icon: ReactNode;
  value: string;
  choices: readonly MenuChoice[];
  onChoose(value: string): void;
};

function Control({ isNamed, label, icon, ...choice }: ControlProps) {
  const [isWanted, setWanted] = useState(false);
  const named = (
    <span style={{ display: 'flex', gap: 8, alignItems: 'center', fontSize: 14 }}>
      {icon}
      {label}
    </span>
  );
  const face = isNamed ? { w: 'auto', px: 10, children: named } : { children: icon };
  const button = (
    <ActionIcon
      variant="subtle"
      color="gray"
      size={40}
      aria-label={label}
      aria-haspopup="menu"
      aria-expanded="false"
      onClick={() => setWanted(true)}
      {...face}
    />
  );
  if (!isWanted) return button;
  return (
    <Suspense fallback={button}>
      <ChoiceMenu label={label} face={face} {...choice} />
    </Suspense>
  );
}
