import { useQueryClient } from '@tanstack/react-query';
import type { i18n, TFunction } from 'i18next';
import { useState } from 'react';
import { ApiError, type FieldError, fieldsViolating } from '../../api/api-error.ts';
import type { Option } from '../../api/types.ts';
import { notifySuccess } from '../../ui/display/notify.ts';
import { describeRange } from '../../ui/form/quantity.ts';
import { useUnsavedChanges } from '../../ui/form/unsaved-changes.tsx';
import { useErrorUntilEdit } from '../../ui/form/use-form.ts';
import { useMutationWithProof } from '../../ui/security-proof/security-proof.tsx';
import { optionUnits } from './option-units.ts';

type Saving = { changes: readonly { key: string; value: string }[]; force: boolean };

export type OptionDrafts = {
  /** The edited value, else the stored one. */
  valueFor(option: Option): string;
  /** undefined restores the stored value. */
  set(key: string, value: string | undefined): void;
  isChanged(key: string): boolean;
  /** The server's error since the option was last changed. */
  findError(key: string): FieldError | null;
  changes: Saving['changes'];
  /** Identities are bound to the provider that this option identifies: saving needs `force`. */
  isBound(key: string): boolean;
  /** Whether any changed option needs `force`. */
  needsForce: boolean;
  isPending: boolean;
  /** An error that belongs to no option, until an edit. */
  error: Error | null;
  save(force?: boolean): void;
  discard(): void;
};

/** Unsaved changes of some options. They are saved together or not at all. */
export function useOptionDrafts(options: readonly Option[], savedText: string): OptionDrafts {
  const [drafts, setDrafts] = useState<Readonly<Record<string, string>>>({});
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const queries = useQueryClient();
  const change = useMutationWithProof<Saving>({
    scope: 'settings.security',
    needsProof: ({ changes }) =>
      options.some(({ key, proof }) => proof !== 'none' && changes.some((each) => each.key === key)),
    request: ({ changes, force }) => ({
      method: 'PUT',
      path: '/api/option',
      body: { options: changes, ...(force ? { force: true } : {}) },
    }),
    invalidates: ['/api/option', '/api/channel/choices'],
    // The status says which features are enabled; every page reads it.
    onResponse: () => void queries.invalidateQueries({ queryKey: ['status'] }),
    onSuccess: (_, saved) => {
      // Values typed while the request was running are still unsaved.
      setDrafts((now) =>
        Object.fromEntries(
          Object.entries(now).filter(
            ([key, value]) => !saved.changes.some((each) => each.key === key && each.value === value),
          ),
        ),
      );
      notifySuccess(savedText);
    },
  });

  const stored = (key: string): string | undefined => options.find((option) => option.key === key)?.value;
  const changes = Object.entries(drafts)
    .filter(([key, value]) => value !== stored(key))
    .map(([key, value]) => ({ key, value }));
  useUnsavedChanges(() => changes.length > 0);

  const optionErrors = readOptionErrors(change.error, change.variables?.changes ?? []);
  const general = useErrorUntilEdit(optionErrors.size === 0 ? change.error : null);
  const isBound = (key: string): boolean => !touched.has(key) && optionErrors.get(key)?.isBound === true;
  return {
    isBound,
    valueFor: ({ key, value }) => drafts[key] ?? value,
    set: (key, value) => {
      general.dismiss();
      setTouched((before) => new Set(before).add(key));
      setDrafts(({ [key]: _, ...others }) => (value === undefined ? others : { ...others, [key]: value }));
    },
    isChanged: (key) => changes.some((each) => each.key === key),
    findError: (key) => (touched.has(key) ? null : (optionErrors.get(key)?.message ?? null)),
    changes,
    needsForce: [...optionErrors.keys()].some(isBound) && touched.size === 0,
    isPending: change.isPending,
    error: general.error,
    save: (force = false) => {
      setTouched(new Set());
      change.mutate({ changes, force });
    },
    discard: () => {
      setDrafts({});
      change.reset();
    },
  };
}

type OptionError = { message: FieldError; isBound: boolean };

/** Errors are keyed by the change's position in the request: `options.2.value`. */
function readOptionErrors(error: Error | null, changes: Saving['changes']): ReadonlyMap<string, OptionError> {
  if (!(error instanceof ApiError)) return new Map();
  const bound = fieldsViolating(error.details, 'needs_force');
  return new Map(
    [...error.fieldErrors].flatMap(([field, message]) => {
      const key = changes[Number(/^options\.(\d+)\./.exec(field)?.[1])]?.key;
      return key === undefined ? [] : [[key, { message, isBound: bound.has(field) }] as const];
    }),
  );
}

/** Checks what can be checked in the browser; the gateway checks the rest. */
export function validateOption({ t, language }: i18n, option: Option, value: string): string | null {
  switch (option.type) {
    case 'integer':
      return validateInteger(t, { ...option, language }, value);
    case 'url':
      return value === '' || (/^https?:\/\/[^\s/]+/i.test(value) && URL.canParse(value))
        ? null
        : t('settings.addressInvalid');
    case 'json':
      // The fields of its rows show what is wrong.
      return value === '' ? t('rows.missing') : null;
    default:
      return null;
  }
}

type IntegerOption = Option & { language: string };

function validateInteger(t: TFunction, option: IntegerOption, value: string): string | null {
  const { key, min: low = 0, max: high = Number.MAX_SAFE_INTEGER, language } = option;
  if (value.startsWith('=')) return t('users.amountInvalid');
  if (!/^\d+$/.test(value)) return t('number.wholeInvalid');
  const number = Number(value);
  if (number >= low && number <= high) return null;
  return describeRange(t, optionUnits[key], { low, high, language });
}
