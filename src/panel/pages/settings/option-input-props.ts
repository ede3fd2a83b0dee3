import type { ReactNode } from 'react';
import type { Option } from '../../api/types.ts';

export type OptionInputProps = {
  option: Option;
  value: string;
  label: ReactNode;
  help: string;
  error: string | null;
  /** undefined restores the stored value. */
  onChange(value: string | undefined): void;
};
