/** The one error this package throws. Match on `code` (listed in docs/errors.md), never on the text. */
export type FilterErrorCode =
  | 'FILTER_OPTIONS_INVALID'
  | 'FILTER_KEY_INVALID'
  | 'FILTER_MISMATCH'
  | 'FILTER_NOT_FOLDABLE'
  | 'FILTER_FULL'
  | 'FILTER_ENCODING_INVALID'
  | 'FILTER_TOO_LARGE'

export class FilterError extends Error {
  readonly code: FilterErrorCode

  constructor(code: FilterErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'FilterError'
    this.code = code
  }
}
