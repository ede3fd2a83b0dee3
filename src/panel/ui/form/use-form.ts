import type { UseMutationResult } from '@tanstack/react-query';
import { type FormEvent, useEffect, useEffectEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError, type FieldError } from '../../api/api-error.ts';
import { codeMessage, fieldMessage } from '../../api/error-message.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useUnsavedChanges } from './unsaved-changes.tsx';

type FormOptions<Values, Variables> = {
  initial: Values;
  /**
   * Validates the values; errors by field, in the user's language. Shown after the first submit.
   */
  validate?(values: Values): Partial<Record<keyof Values & string, string | null>>;
  /**
   * Builds the request. To send changes only, compare with `original`, the values the form started
   * with: the source may have been refetched since.
   */
  toVariables(values: Values, original: Values): Variables;
  change: Pick<UseMutationResult<unknown, Error, Variables>, 'isPending' | 'error' | 'isError' | 'reset'> & {
    mutate(variables: Variables): void;
  };
  /** Texts of this form for some API codes. */
  codeTexts?: Readonly<Record<string, TextKey>>;
};

export type Focusable = { focus(options?: FocusOptions): void };

export type Form<Values> = {
  values: Values;
  /** How many fields differ from the original ones, and whether any does. */
  changed: number;
  isDirty: boolean;
  isPending: boolean;
  /** The server's error until an edit, if no field shows it. */
  error: Error | null;
  set<Field extends keyof Values & string>(field: Field, value: Values[Field]): void;
  /** Starts over with other values. Values typed while the request was running are kept. */
  reset(values: Values): void;
  /** The error of a field, or of an entry in it: a failed validation or the server's error. */
  readError(field: keyof Values & string): string | null;
  /** The name of the entry that the server's error is about: `X-Name` of `headers.X-Name`. */
  faultyEntry(field: keyof Values & string): string | null;
  /** Props for text inputs: value, handler, error, and the ref for focusing. */
  bind(field: keyof Values & string): {
    value: string;
    onChange(event: { currentTarget: { value: string } }): void;
    error: string | null;
    ref(element: Focusable | null): void;
  };
  /**
   * Props for inputs whose handler receives the value (Select, MoneyField, TagsInput,
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
  /** Props for switches and checkboxes. */
  bindChecked(field: keyof Values & string): {
    checked: boolean;
    onChange(event: { currentTarget: { checked: boolean } }): void;
  };
  submit(event?: FormEvent): void;
};

/**
 * Form state. What was typed stays when the server refuses. The server's error of a field is shown
 * until the field changes. The first invalid field gets the focus.
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
  const [invalidSubmits, setInvalidSubmits] = useState(0);
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const inputs = useRef(new Map<string, Focusable>());
  /** The values of the request that is running. */
  const sent = useRef<Values | null>(null);

  const fieldErrors = change.error instanceof ApiError ? change.error.fieldErrors : new Map<string, FieldError>();
  const toText = (fieldError: FieldError): string => {
    const said = fieldMessage(fieldError, t, i18n.language);
    return change.error instanceof ApiError && change.error.code !== 'VALIDATION_FAILED'
      ? (codeMessage({ error: change.error, t, language: i18n.language, overrides: codeTexts }) ?? said)
      : said;
  };
  const fields = Object.keys(initial) as Field[];
  /** The path of the error that is shown at a field: an entry belongs to the field around it. */
  const errorPath = (field: Field): string | undefined => {
    if (fieldErrors.has(field)) return field;
    const isEntry = (path: string) => path.startsWith(`${field}.`) && !fields.includes(path as Field);
    return [...fieldErrors.keys()].find(isEntry);
  };
  const hasFieldError = fields.some((field) => errorPath(field) !== undefined);
  const validationErrors: Partial<Record<Field, string | null>> = validate?.(values) ?? {};

  const general = useErrorUntilEdit(hasFieldError ? null : change.error);
  const set: Form<Values>['set'] = (field, value) => {
    general.dismiss();
    setValues((before) => ({ ...before, [field]: value }));
    setTouched((before) => new Set(before).add(field));
  };
  const readError = (field: Field): string | null => {
    if (isSubmitted && validationErrors[field]) return validationErrors[field];
    const fieldError = fieldErrors.get(errorPath(field) ?? '');
    return fieldError === undefined || touched.has(field) ? null : toText(fieldError);
  };
  const faultyEntry = (field: Field): string | null => {
    const path = errorPath(field);
    return path === undefined || path === field || touched.has(field) ? null : path.slice(field.length + 1);
  };

  const registerInput = (field: Field) => (element: Focusable | null) => {
    if (element === null) inputs.current.delete(field);
    else inputs.current.set(field, element);
  };

  const focusFirst = (isWrong: (field: Field) => boolean): void =>
    focusFirstInput(fields.filter(isWrong).flatMap((field) => inputs.current.get(field) ?? []));
  const focusFirstInvalid = useEffectEvent(() => focusFirst((field) => Boolean(validationErrors[field])));
  // After the render: a section that was closed opens for its field.
  useEffect(() => {
    if (invalidSubmits > 0) focusFirstInvalid();
  }, [invalidSubmits]);
  const focusFirstRefused = useEffectEvent(() => focusFirst((field) => errorPath(field) !== undefined));
  useEffect(() => {
    if (change.error === null) return;
    sent.current = null;
    focusFirstRefused();
  }, [change.error]);

  const changed = fields.filter((field) => JSON.stringify(values[field]) !== JSON.stringify(original[field])).length;
  const isDirty = changed > 0;
  // What is being saved is not lost when the page is left on success.
  useUnsavedChanges(
    () => isDirty && (sent.current === null || JSON.stringify(values) !== JSON.stringify(sent.current)),
    () => isDirty,
  );

  return {
    values,
    changed,
    isDirty,
    isPending: change.isPending,
    error: general.error,
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
    readError,
    faultyEntry,
    bind: (field) => ({
      value: String(values[field] ?? ''),
      onChange: (event) => set(field, event.currentTarget.value as Values[typeof field]),
      error: readError(field),
      ref: registerInput(field),
    }),
    bindValue: (field) => ({
      value: values[field],
      onChange: (value) => set(field, value),
      error: readError(field),
      ref: registerInput(field),
    }),
    bindChecked: (field) => ({
      checked: values[field] === true,
      onChange: (event) => set(field, event.currentTarget.checked as Values[typeof field]),
    }),
    submit: (event) => {
      event?.preventDefault();
      setSubmitted(true);
      if (fields.some((field) => validationErrors[field])) {
        setInvalidSubmits((count) => count + 1);
        return;
      }
      if (change.isPending) return;
      setTouched(new Set());
      sent.current = values;
      change.mutate(toVariables(values, original));
    },
  };
}

/**
 * Moves the focus to the first of these inputs in the order of the page, and the page to it. A
 * section that opens hides its inputs for another frame or two.
 */
function focusFirstInput(inputs: readonly Focusable[], framesLeft = 10): void {
  const elements = inputs.filter((input) => input instanceof HTMLElement);
  elements.sort((one, other) =>
    (one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0 ? -1 : 1,
  );
  const first = elements[0] ?? inputs[0];
  first?.focus({ preventScroll: true });
  if (!(first instanceof HTMLElement)) return;
  if (document.activeElement === first) first.scrollIntoView({ block: 'center' });
  else if (framesLeft > 0) requestAnimationFrame(() => focusFirstInput([first], framesLeft - 1));
}

/** `next`, except for fields whose value `now` differs from what was `sent`. */
function mergeTyped<Values extends Record<string, unknown>>(next: Values, now: Values, sent: Values): Values {
  const typed = Object.entries(now).filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(sent[field]));
  return { ...next, ...Object.fromEntries(typed) };
}

/** The error of a request until an edit calls `dismiss`: it says nothing of what is typed now. */
export function useErrorUntilEdit(error: Error | null): { error: Error | null; dismiss(): void } {
  const [dismissed, setDismissed] = useState<Error | null>(null);
  return { error: error === dismissed ? null : error, dismiss: () => setDismissed(error) };
}
