/** Detects that tables or nodes were restored by their own tools: it is compared with the identity that the store remembers. */
export interface Identity {
  isSame(noted: string): boolean
  /** The text to remember from now on. For a node that is away, it keeps what was noted. */
  toNote(noted: string | undefined): string
}

/** The name that the store remembers it under. */
export const IDENTITY = 'freshet:identity'
