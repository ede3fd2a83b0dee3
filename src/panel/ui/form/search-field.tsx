import { TextInput, type TextInputProps } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';

/** A field to search a list with. The key `/` leads to the first one of a page. */
export const SearchField = (props: TextInputProps) => (
  <TextInput
    type="search"
    leftSection={<IconSearch size={17} stroke={1.6} aria-hidden="true" />}
    maxLength={200}
    {...props}
  />
);
