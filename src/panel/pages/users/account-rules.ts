import type { TFunction } from 'i18next';
import { roles } from '../../session/roles.ts';
import { quotaPerUsd } from '../../ui/display/use-format.ts';

/** What an administrator may do to an account; the API refuses the rest. */
export type Rights = {
  /** Fields, balance, factors. */
  edit: boolean;
  balance: boolean;
  switch: boolean;
  delete: boolean;
  promote: boolean;
  demote: boolean;
  sessions: boolean;
};

type Person = { id: number; role: number };

const noRights: Rights = {
  edit: false,
  balance: false,
  switch: false,
  delete: false,
  promote: false,
  demote: false,
  sessions: false,
};

/**
 * Administrators deal with users alone, never with their peers; root with everybody below him.
 * One's own account is changed in one's own settings, but for root's balance, since nobody stands
 * above him.
 */
export function rightsOver(operator: Person, target: Person & { deleted_at: number }): Rights {
  if (target.deleted_at !== 0) return noRights;
  const isRoot = operator.role >= roles.root;
  if (operator.id === target.id) return { ...noRights, balance: isRoot };
  if (!isRoot && target.role >= operator.role) return noRights;
  const isBelow = target.role < roles.root;
  return {
    edit: true,
    balance: true,
    switch: isBelow,
    delete: isBelow,
    promote: isRoot && target.role < roles.admin,
    demote: isRoot && target.role >= roles.admin && isBelow,
    sessions: isRoot,
  };
}

/** The rules of the account pages, as far as the panel can tell them before it asks. */
export const usernameError = (t: TFunction, name: string): string | null =>
  /^[A-Za-z0-9._-]{1,32}$/.test(name) ? null : t('users.nameInvalid');

export function passwordError(t: TFunction, secret: string): string | null {
  const { length } = [...secret];
  if (length < 8) return t('setup.passwordTooShort');
  return length > 128 ? t('setup.passwordTooLong') : null;
}

/** Dollars as typed to quota; null for what is no amount. */
export function dollarsToQuota(text: number | string): number | null {
  const dollars = Number(text);
  if (text === '' || !Number.isFinite(dollars) || dollars < 0) return null;
  return Math.round(dollars * quotaPerUsd);
}
