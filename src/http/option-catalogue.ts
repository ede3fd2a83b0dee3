import { isObject, parseJson } from '../kernel/index.ts';

/** A setting that an administrator edits. Values are stored as texts; `check` says what is wrong with one. */
export type OptionRule = {
  type: 'text' | 'url' | 'choice' | 'json';
  default: string;
  check(value: string): string | undefined;
};

const MAX_TEXT = 200;

const address: OptionRule = {
  type: 'url',
  default: '',
  check(value) {
    if (value === '') return undefined;
    const url = URL.canParse(value) ? new URL(value) : undefined;
    const plain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash;
    return plain ? undefined : 'an absolute http or https address without credentials, query and fragment, or nothing';
  },
};

/** Every option that exists; no other key can be written. */
export const OPTION_CATALOGUE: Readonly<Record<string, OptionRule>> = {
  SystemName: {
    type: 'text',
    default: 'Taskgate',
    check: (value) => (value.trim() !== '' && value.length <= MAX_TEXT ? undefined : `1 to ${MAX_TEXT} characters`),
  },
  /** Where people reach the gateway; links in answers and mails begin with it. */
  ServerAddress: address,
  /** Where vendors and clients fetch artifacts, if that is elsewhere. */
  TaskPublicAddress: address,
  /** Who may use models without a price. */
  'billing.unpriced': {
    type: 'choice',
    default: 'admins',
    check: (value) => (['admins', 'everyone', 'nobody'].includes(value) ? undefined : 'admins, everyone or nobody'),
  },
  /** Group name to price ratio. */
  groups: {
    type: 'json',
    default: '{"default":1}',
    check(value) {
      const groups = parseJson(value);
      const valid =
        isObject(groups) &&
        Object.entries(groups).every(
          ([name, ratio]) =>
            /^[\w.-]{1,64}$/.test(name) && typeof ratio === 'number' && Number.isFinite(ratio) && ratio >= 0,
        );
      return valid ? undefined : 'a JSON object of group names (letters, digits, . _ -) to ratios of at least 0';
    },
  },
};
