/** What a caller may be allowed to do with a bucket and its objects. */
export const RIGHTS = ['read', 'list', 'create', 'update', 'delete'] as const
/** The rights to change something. */
export const WRITES: readonly (typeof RIGHTS)[number][] = ['create', 'update', 'delete']
export type Right = (typeof RIGHTS)[number]
