/** Where a shard is, and the name of that place in messages. */
export interface ShardAddress {
  /** `mariadb://user:password@host/database` or `postgres://...` */
  readonly url: string
  /** For messages: without the password. */
  readonly place: string
  readonly sessionsMax: number
}
