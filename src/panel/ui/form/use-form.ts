import type { UseMutationResult } from '@tanstack/react-query';
import { type FormEvent, useEffect, useEffectEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.ts';
import { explainCode } from '../../api/error-message.ts';
import type { TextKey } from '../../i18n/texts.ts';

type FormOptions<Values, Variables> = {
  initial: Values;
  /**
   * What is wrong with the values, in the reader's language, by field; asked for after the first
   * try to send.
   */
  check?(values: Values): Partial<Record<keyof Values & string, string | null>>;
  /**
   * What is sent. Who sends changes alone compares with how the form began: what it was made from
   * may have been read anew since.
   */
  read(values: Values, begun: Values): Variables;
  change: Pick<UseMutationResult<unknown, Error, Variables>, 'isPending' | 'error' | 'isError' | 'reset'> & {
    mutate(variables: Variables): void;
  };
  /** What codes of the API mean in this form, where it is not what they mean elsewhere. */
  meanings?: Readonly<Record<string, TextKey>>;
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
  restart(values: Values): void;
  /** What is wrong with a field, by the form's own rules or by the server's answer. */
  tell(field: keyof Values & string): string | null;
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
  check,
  read,
  change,
  meanings,
}: FormOptions<Values, Variables>): Form<Values> {
  type Field = keyof Values & string;
  const { t, i18n } = useTranslation();
  const [values, setValues] = useState(initial);
  const [begun, setBegun] = useState(initial);
  const [isChecked, setChecked] = useState(false);
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const inputs = useRef(new Map<string, Focusable>());
  /** The values that the change on its way was made of. */
  const sent = useRef<Values | null>(null);

  const faults = change.error instanceof ApiError ? change.error.faults : new Map<string, string>();
  const explain = (fault: string): string =>
    change.error instanceof ApiError && change.error.code !== 'VALIDATION_FAILED'
      ? (explainCode(change.error, t, i18n.language, meanings) ?? fault)
      : fault;
  const fields = Object.keys(initial) as Field[];
  const isTold = fields.some((field) => faults.has(field));
  const objections: Partial<Record<Field, string | null>> = check?.(values) ?? {};

  const set: Form<Values>['set'] = (field, value) => {
    setValues((before) => ({ ...before, [field]: value }));
    setTouched((before) => new Set(before).add(field));
  };
  const tell = (field: Field): string | null => {
    if (isChecked && objections[field]) return objections[field];
    const fault = faults.get(field);
    return fault === undefined || touched.has(field) ? null : explain(fault);
  };

  const keepInput = (field: Field) => (element: Focusable | null) => {
    if (element === null) inputs.current.delete(field);
    else inputs.current.set(field, element);
  };

  const focusRefused = useEffectEvent(() => {
    const refused = fields.find((field) => faults.has(field));
    if (refused !== undefined) inputs.current.get(refused)?.focus();
  });
  useEffect(() => {
    if (change.error === null) return;
    sent.current = null;
    focusRefused();
  }, [change.error]);

  return {
    values,
    isDirty: fields.some((field) => JSON.stringify(values[field]) !== JSON.stringify(begun[field])),
    isPending: change.isPending,
    error: change.isError && !isTold ? change.error : null,
    set,
    restart: (next) => {
      const answered = sent.current;
      sent.current = null;
      setValues((now) => (answered === null ? next : keepTyped(next, now, answered)));
      setBegun(next);
      setChecked(false);
      setTouched(new Set());
      change.reset();
    },
    tell,
    bind: (field) => ({
      value: String(values[field] ?? ''),
      onChange: (event) => set(field, event.currentTarget.value as Values[typeof field]),
      error: tell(field),
      ref: keepInput(field),
    }),
    bindValue: (field) => ({
      value: values[field],
      onChange: (value) => set(field, value),
      error: tell(field),
      ref: keepInput(field),
    }),
    bindChecked: (field) => ({
      checked: values[field] === true,
      onChange: (event) => set(field, event.currentTarget.checked as Values[typeof field]),
    }),
    submit: (event) => {
      event?.preventDefault();
      setChecked(true);
      const wrong = fields.find((field) => objections[field]);
      if (wrong !== undefined) {
        inputs.current.get(wrong)?.focus();
        return;
      }
      if (change.isPending) return;
      setTouched(new Set());
      sent.current = values;
      change.mutate(read(values, begun));
    },
  };
}

/** `next`, but for the fields that are other `now` than when they were `sent`. */
function keepTyped<Values extends Record<string, unknown>>(next: Values, now: Values, sent: Values): Values {
  const typed = Object.entries(now).filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(sent[field]));
  return { ...next, ...Object.fromEntries(typed) };
}
