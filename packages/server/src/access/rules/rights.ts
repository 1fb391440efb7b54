/** What one may be allowed to do with a bucket and what is in it. */
export const RIGHTS = ['read', 'list', 'create', 'update', 'delete'] as const
/** Those to change something. */
export const WRITES: readonly (typeof RIGHTS)[number][] = ['create', 'update', 'delete']
export type Right = (typeof RIGHTS)[number]
