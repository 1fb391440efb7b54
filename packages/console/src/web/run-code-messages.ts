/** The messages between the JavaScript page and its worker. */
export interface ToCode {
  readonly code: string
  /** A token, or empty. */
  readonly authorization: string
}

export interface FromCode {
  readonly kind: 'printed' | 'done' | 'failed'
  readonly text: string
}
