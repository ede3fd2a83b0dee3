import type { UseMutationResult } from '@tanstack/react-query';
import { type FormEvent, useEffect, useEffectEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.ts';
import { codeMessage } from '../../api/error-message.ts';
import type { TextKey } from '../../i18n/texts.ts';

type FormOptions<Values, Variables> = {
  initial: Values;
  /**
   * What is wrong with the values, in the reader's language, by field; asked for after the first
   * try to send.
   */
  validate?(values: Values): Partial<Record<keyof Values & string, string | null>>;
  /**
   * What is sent. Who sends changes alone compares with how the form began: what it was made from
   * may have been read anew since.
   */
  toVariables(values: Values, original: Values): Variables;
  change: Pick<UseMutationResult<unknown, Error, Variables>, 'isPending' | 'error' | 'isError' | 'reset'> & {
    mutate(variables: Variables): void;
  };
  /** What codes of the API mean in this form, where it is not what they mean elsewhere. */
  codeTexts?: Readonly<Record<string, TextKey>>;
};

type Focusable = { focus(): void };

export type Form<Values> = {
  values: Values;
  /** Differs from how it began. */
  isDirty: boolean;
  isPending: boolean;
  /** The server's refusal, where no field shows it. */
  error: Error | null;
  set<Field extends keyof Values & string>(field: Field, value: Values[Field]): void;
  /** Begins anew with other values. What was typed while the answer was on its way stays. */
  reset(values: Values): void;
  /** What is wrong with a field, by the form's own rules or by the server's answer. */
  errorOf(field: keyof Values & string): string | null;
  /** For text inputs: value, handler, fault, and where the focus goes when the field is wrong. */
  bind(field: keyof Values & string): {
    value: string;
    onChange(event: { currentTarget: { value: string } }): void;
    error: string | null;
    ref(element: Focusable | null): void;
  };
  /**
   * For inputs whose handler gets the value itself (Select, NumberInput, TagsInput,
   * SegmentedControl).
   */
  bindValue<Field extends keyof Values & string>(
    field: Field,
  ): {
    value: Values[Field];
    onChange(value: Values[Field]): void;
    error: string | null;
    ref(element: Focusable | null): void;
  };
  /** For switches and check boxes. */
  bindChecked(field: keyof Values & string): {
    checked: boolean;
    onChange(event: { currentTarget: { checked: boolean } }): void;
  };
  submit(event?: FormEvent): void;
};

/**
 * One form: what was typed stays when the server refuses, and what the server says of a field
 * stands at that field until it is changed. The first wrong field takes the focus.
 */
export function useForm<Values extends Record<string, unknown>, Variables = Values>({
  initial,
  validate,
  toVariables,
  change,
  codeTexts,
}: FormOptions<Values, Variables>): Form<Values> {
  type Field = keyof Values & string;
  const { t, i18n } = useTranslation();
  const [values, setValues] = useState(initial);
  const [original, setOriginal] = useState(initial);
  const [isSubmitted, setSubmitted] = useState(false);
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const inputs = useRef(new Map<string, Focusable>());
  /** The values that the change on its way was made of. */
  const sent = useRef<Values | null>(null);

  const fieldErrors = change.error instanceof ApiError ? change.error.fieldErrors : new Map<string, string>();
  const toText = (fieldError: string): string =>
    change.error instanceof ApiError && change.error.code !== 'VALIDATION_FAILED'
      ? (codeMessage({ error: change.error, t, language: i18n.language, overrides: codeTexts }) ?? fieldError)
      : fieldError;
  const fields = Object.keys(initial) as Field[];
  const hasFieldError = fields.some((field) => fieldErrors.has(field));
  const validationErrors: Partial<Record<Field, string | null>> = validate?.(values) ?? {};

  const set: Form<Values>['set'] = (field, value) => {
    setValues((before) => ({ ...before, [field]: value }));
    setTouched((before) => new Set(before).add(field));
  };
  const errorOf = (field: Field): string | null => {
    if (isSubmitted && validationErrors[field]) return validationErrors[field];
    const fieldError = fieldErrors.get(field);
    return fieldError === undefined || touched.has(field) ? null : toText(fieldError);
  };

  const registerInput = (field: Field) => (element: Focusable | null) => {
    if (element === null) inputs.current.delete(field);
    else inputs.current.set(field, element);
  };

  const focusFirstRefused = useEffectEvent(() => {
    const refused = fields.find((field) => fieldErrors.has(field));
    if (refused !== undefined) inputs.current.get(refused)?.focus();
  });
  useEffect(() => {
    if (change.error === null) return;
    sent.current = null;
    focusFirstRefused();
  }, [change.error]);

  return {
    values,
    isDirty: fields.some((field) => JSON.stringify(values[field]) !== JSON.stringify(original[field])),
    isPending: change.isPending,
    error: change.isError && !hasFieldError ? change.error : null,
    set,
    reset: (next) => {
      const sentValues = sent.current;
      sent.current = null;
      setValues((now) => (sentValues === null ? next : mergeTyped(next, now, sentValues)));
      setOriginal(next);
      setSubmitted(false);
      setTouched(new Set());
      change.reset();
    },
    errorOf,
    bind: (field) => ({
      value: String(values[field] ?? ''),
      onChange: (event) => set(field, event.currentTarget.value as Values[typeof field]),
      error: errorOf(field),
      ref: registerInput(field),
    }),
    bindValue: (field) => ({
      value: values[field],
      onChange: (value) => set(field, value),
      error: errorOf(field),
      ref: registerInput(field),
    }),
    bindChecked: (field) => ({
      checked: values[field] === true,
      onChange: (event) => set(field, event.currentTarget.checked as Values[typeof field]),
    }),
    submit: (event) => {
      event?.preventDefault();
      setSubmitted(true);
      const firstInvalid = fields.find((field) => validationErrors[field]);
      if (firstInvalid !== undefined) {
        inputs.current.get(firstInvalid)?.focus();
        return;
      }
      if (change.isPending) return;
      setTouched(new Set());
      sent.current = values;
      change.mutate(toVariables(values, original));
    },
  };
}

/** `next`, but for the fields that are other `now` than when they were `sent`. */
function mergeTyped<Values extends Record<string, unknown>>(next: Values, now: Values, sent: Values): Values {
  const typed = Object.entries(now).filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(sent[field]));
  return { ...next, ...Object.fromEntries(typed) };
}
