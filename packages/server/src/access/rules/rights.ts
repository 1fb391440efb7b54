/** What one may be allowed to do with a bucket and what is in it. */
export const RIGHTS = ['read', 'list', 'create', 'update', 'delete'] as const
export type Right = (typeof RIGHTS)[number]
