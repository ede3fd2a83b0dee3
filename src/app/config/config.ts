import { findNearest, sentence } from '../../kernel/index.ts';
import type { SettingWarning } from '../../settings/index.ts';
import { completeAddress } from '../../store/index.ts';
import { checkConfig } from './check-config.ts';
import { type Config, VARIABLES, type VariableName } from './config-variables.ts';
import type { Variable } from './define-variable.ts';
import { findDataDir } from './find-data-dir.ts';
import { readSecretSource } from './read-secret-source.ts';

/** Command-line flags that override environment variables: `--port` overrides `PORT`. */
export type ConfigOverrides = Partial<Record<VariableName, { flag: string; value: string }>>;

export type ConfigReading =
  | { ok: true; config: Config; warnings: SettingWarning[] }
  /** One sentence per fault: the key, the value read (never a secret), what is allowed. */
  | { ok: false; faults: string[] };

/** A variable of its own is not a source of another: `BACKUP_PASSPHRASE_FILE`. */
const OWN_NAMES: ReadonlySet<string> = new Set(Object.values(VARIABLES).map(({ env }) => env));

/**
 * Reads and checks the whole configuration and reports all faults at once. An empty or blank
 * variable counts as unset.
 */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  overrides: ConfigOverrides = {},
  needs?: { needsSecrets: boolean },
): ConfigReading {
  const faults: string[] = [];
  const warnings: SettingWarning[] = [];
  const values: Record<string, unknown> = {};
  const set = new Set<string>();
  for (const name of Object.keys(VARIABLES) as VariableName[]) {
    const variable: Variable<unknown> = VARIABLES[name];
    const override = overrides[name];
    values[name] = variable.default;
    const source = variable.secret && !override ? readSecretSource(variable.env, environment, OWN_NAMES) : undefined;
    if (source?.ok === false) {
      set.add(variable.env);
      faults.push(source.error);
      continue;
    }
    const raw = (override?.value ?? source?.value ?? environment[variable.env] ?? '').trim();
    if (raw === '' && override === undefined) continue;
    set.add(variable.env);
    const parsed = variable.kind.parse(raw);
    if (parsed.ok) {
      values[name] = parsed.value;
      continue;
    }
    if (variable.fallback) warnings.push(warnOfValue(variable, raw));
    else faults.push(describeFault(variable, { name: override?.flag ?? variable.env, raw, hint: parsed.error }));
  }
  if (!set.has(VARIABLES.dataDir.env)) values.dataDir = findDataDir({ environment });
  for (const name of ['databaseUrl', 'databasePoolUrl'] as const) {
    if (values[name] === '') continue;
    const whole = completeAddress(String(values[name]), environment);
    if (whole.ok) values[name] = whole.value;
    else faults.push(`${VARIABLES[name].env}: ${whole.error}`);
  }
  const checked = checkConfig(values as Config, set, needs);
  faults.push(...checked.faults);
  warnings.push(...checked.warnings, ...warnOfMisspellings(environment));
  return faults.length > 0 ? { ok: false, faults } : { ok: true, config: checked.config, warnings };
}

/**
 * The environment as it is, for what is not a setting: the person's desktop and folders, and
 * programs that a command starts.
 */
export const readEnvironment = (): Readonly<Record<string, string | undefined>> => process.env;

/** The only code that reads the environment of the process for settings. */
export const loadConfig = (overrides: ConfigOverrides = {}, needs?: { needsSecrets: boolean }): ConfigReading =>
  readConfig(readEnvironment(), overrides, needs);

/** Names of this length and above are ours or nobody's when they differ by a letter or two. */
const MIN_COMPARED = 8;
/** OpenSSL's, and one letter away from TLS_CERT_FILE. */
const OTHERS_NAMES: ReadonlySet<string> = new Set(['SSL_CERT_FILE', 'SSL_KEY_FILE']);

/** A misspelt variable would count as unset, and the default would stand unnoticed. */
function warnOfMisspellings(environment: Readonly<Record<string, string | undefined>>): SettingWarning[] {
  return Object.keys(environment).flatMap((name) => {
    const own = name.endsWith('_FILE') && OWN_NAMES.has(name.slice(0, -'_FILE'.length));
    if (name.length < MIN_COMPARED || own || OWN_NAMES.has(name) || OTHERS_NAMES.has(name)) return [];
    const near = findNearest(name, OWN_NAMES, 2);
    if (near === undefined) return [];
    return [{ setting: name, code: 'setting_doubtful', ...sentence('config.misspelt', { name, near }) }];
  });
}

function describeFault(
  variable: Variable<unknown>,
  { name, raw, hint }: { name: string; raw: string; hint: string },
): string {
  return `${name}: read ${showValue(variable, raw)}; allowed: ${variable.kind.allowed}${hint ? ` (${hint})` : ''}`;
}

/** The default is used instead. */
function warnOfValue(variable: Variable<unknown>, raw: string): SettingWarning {
  const { env: name, kind, default: fallback, defaultText = '' } = variable;
  return {
    setting: name,
    code: 'setting_doubtful',
    ...sentence('config.value_refused', {
      ...{ name, value: showValue(variable, raw), allowed: kind.allowedSentence ?? kind.allowed },
      used: fallback === undefined ? defaultText : String(fallback),
    }),
  };
}

function showValue({ secret }: Variable<unknown>, raw: string): string {
  if (secret) return `a value of ${raw.length} characters (not shown)`;
  // Somebody may have written an address with its password into the wrong variable.
  const [scheme, host] = [raw.indexOf('://'), raw.lastIndexOf('@')];
  const shown = scheme === -1 || host < scheme ? raw : `${raw.slice(0, scheme)}://…${raw.slice(host)}`;
  return JSON.stringify(shown.length > 100 ? `${shown.slice(0, 100)}…` : shown);
}
