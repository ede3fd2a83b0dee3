import type { AppError } from '../../kernel/index.ts';
import { httpErrors } from '../errors.ts';

/** `http.validation_failed` for one field, in the same shape as a schema's faults. */
export const fieldError = (field: string, rule: 'required' | 'wrong_value', message: string): AppError =>
  httpErrors.validation_failed({ message, param: field, details: { errors: [{ field, rule, message }] } });
