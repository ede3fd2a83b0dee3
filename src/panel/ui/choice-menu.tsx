import { ActionIcon, Menu } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Choice } from './page-controls.tsx';

type ChoiceMenuProps = {
  label: string;
  icon: ReactNode;
  value: string;
  choices: readonly Choice[];
  onChoose(value: string): void;
};

/** One choice of several, behind an icon; it comes open. */
export function ChoiceMenu({ label, icon, value, choices, onChoose }: ChoiceMenuProps) {
  return (
    <Menu position="bottom-end" width={176} defaultOpened>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size={40} aria-label={label}>
          {icon}
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.RadioGroup value={value} onChange={onChoose}>
          {choices.map(({ value: choice, text, lang }) => (
            <Menu.RadioItem key={choice} value={choice} lang={lang}>
              {text}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
      </Menu.Dropdown>
    </Menu>
  );
}
