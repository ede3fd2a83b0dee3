export type ServiceScope = 'user' | 'system';

/** What a service runs and where it lies. */
export type ServiceInput = {
  scope: ServiceScope;
  /** Absolute path of the program. */
  executable: string;
  /** Absolute path. */
  dataDir: string;
  /** Further arguments of `serve`. */
  args: readonly string[];
};

export type ServiceStep = { command: readonly string[]; mayFail?: true };

/** How the system's service manager is told. */
export type ServicePlan = {
  file: { path: string; content: string | Uint8Array };
  install: readonly ServiceStep[];
  uninstall: readonly ServiceStep[];
  /** Succeeds while the service runs. */
  status: readonly string[];
  /** What else the person should know. */
  hints: readonly string[];
};
