/** What tells that tables or nodes were put back by their own tools. It is compared with what the store remembers of it. */
export interface Identity {
  isSame(noted: string): boolean
  /** To be remembered from now on: of a node that is away, what was noted. */
  toNote(noted: string | undefined): string
}

/** Under this name. */
export const IDENTITY = 'freshet:identity'
