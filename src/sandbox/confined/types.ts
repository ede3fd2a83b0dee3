/** What a confined program may use. It never writes a file or reaches a network. */
export type ProgramLimits = {
  /** Wall clock; the parent kills it then. */
  timeMs: number;
  /** Processor time. */
  cpuSeconds: number;
  /** Address space. */
  memoryBytes: number;
  /** What it may write to its standard output. */
  outputBytes: number;
};

/** A program with what it may read besides the libraries and programs of the system. */
export type ConfinedProgram = { path: string; args: readonly string[] };

/** What the parent hands to the child that confines itself and becomes the program. */
export type ConfinedStart = Pick<ProgramLimits, 'cpuSeconds' | 'memoryBytes'> & ConfinedProgram;

/**
 * Why there is no output. `not_confined`: this system cannot confine programs, so none was started.
 * `time`, `output`: a limit was reached. `failed`: it ended otherwise than with code 0.
 */
export type ProgramFault = { kind: 'not_confined' | 'time' | 'output' | 'failed'; message: string };
